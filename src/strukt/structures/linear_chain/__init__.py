"""Linear chains (CRF): the forward algorithm over tags."""
