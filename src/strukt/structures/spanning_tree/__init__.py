"""Undirected spanning trees: each is one tree rooted at vertex 0, so sums are those of non-projective trees."""
