"""Kernels over plain tensors, without classes: a folder for each recursion or map, a file for each backend."""
