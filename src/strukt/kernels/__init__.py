"""Recursions over plain tensors: one folder each, one file per backend, all with the same signatures."""
