"""Undirected spanning trees: each is one tree rooted at vertex 0, with the sums of non-projective trees."""
