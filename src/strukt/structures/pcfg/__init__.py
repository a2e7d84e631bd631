"""Probabilistic context-free grammars: the inside recursion over labelled spans."""
