"""Probabilistic context-free grammars (PCFG), by the inside-outside and CKY algorithms."""
