"""Linear-chain conditional random fields (CRF): distributions over tag sequences."""
