"""Subsets of k items weighed by determinants: k-DPPs."""
