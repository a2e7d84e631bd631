"""Projective dependency trees: Eisner's recursion over half-trees."""
