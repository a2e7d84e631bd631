"""Labelled spans: what constituency parsing and named entities share."""
