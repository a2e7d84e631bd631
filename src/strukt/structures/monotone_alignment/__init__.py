"""Monotone alignments of two sequences: the recursion over the cells of a grid, diagonal by diagonal."""
