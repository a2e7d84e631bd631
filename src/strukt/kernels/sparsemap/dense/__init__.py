"""The active sets of SparseMAP for a whole batch as dense PyTorch tensors, for accelerators."""
