"""Subsets of some items, of a given number or range: sums over a tree of blocks, best ones by sorting."""
