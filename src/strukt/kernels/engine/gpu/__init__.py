"""The questions of recursions that are tables, on GPUs: one kernel launch for all items, in Triton."""
