"""The active set of SparseMAP: an exact quadratic program over the structures that an oracle returns."""
