"""Projective dependency trees: Eisner's algorithm over half-trees."""
