"""Constituency trees: binary trees over spans, by the inside algorithm (CKY)."""
