"""Projective dependency trees with labelled arcs: Eisner's algorithm after a sum over the labels of each arc."""
