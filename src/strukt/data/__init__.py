"""Corpora: lossless reading and writing, checks, vocabularies, batches. Only `brown` imports PyTorch."""
