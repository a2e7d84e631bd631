"""Undirected spanning trees: each is one tree rooted at vertex 0, so that the sums are those of `strukt.structures.non_projective_tree`."""
