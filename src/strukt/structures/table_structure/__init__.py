"""Structures that are nothing but a table: their parts are its weights."""
