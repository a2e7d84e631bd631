"""Lexicalised trees: binary trees whose spans have head words."""
