"""Hidden Markov models (HMM), with dense, low-rank and banded transition matrices."""
