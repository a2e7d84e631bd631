"""Kernels on plain tensors, which know no structure's class; a folder of kernels has a file for each backend."""
