"""Projective dependency trees with labelled arcs: Eisner's algorithm over arcs without labels."""
