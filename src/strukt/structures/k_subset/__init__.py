"""Subsets of a given size or range of sizes: sums over a tree of blocks, best subsets by sorting."""
