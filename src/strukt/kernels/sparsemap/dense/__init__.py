"""The active sets of SparseMAP for a whole batch, as dense tensors of PyTorch: for accelerators."""
