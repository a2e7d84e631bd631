"""Linear chains: the forward recursion over tags."""
