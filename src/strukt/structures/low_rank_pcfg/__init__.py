"""Grammars whose rules are of low rank: the inside recursion over spans with a rank in place of a label."""
