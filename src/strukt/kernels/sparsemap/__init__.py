"""The active set of SparseMAP: an exact quadratic program over the structures from an oracle."""
