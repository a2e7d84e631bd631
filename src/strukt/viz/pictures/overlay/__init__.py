"""Several structures of one sentence in one picture."""
