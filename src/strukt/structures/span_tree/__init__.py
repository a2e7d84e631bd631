"""Constituency trees: binary trees over spans, by the inside and CKY algorithms."""
