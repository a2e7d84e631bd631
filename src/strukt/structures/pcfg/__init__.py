"""Probabilistic context-free grammars (PCFG): the inside-outside and CKY algorithms over labelled spans."""
