"""Distributions over subsets of a given size or range of sizes."""
