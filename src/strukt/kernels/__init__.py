"""Kernels over plain tensors, independent of classes: a folder for each recursion or map, a file for
each backend.
"""
