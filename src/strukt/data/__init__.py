"""Corpora: lossless reading and writing, checks, vocabularies, batches. Nothing here imports PyTorch."""
