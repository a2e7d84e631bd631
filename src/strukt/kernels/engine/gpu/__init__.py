"""Table programs on GPUs: Triton kernels with one launch for all items."""
