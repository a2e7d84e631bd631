"""Labelled spans: the common parts of constituency parsing and named entities."""
