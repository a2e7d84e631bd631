"""Corpora in and out: reading without loss, checking, vocabularies, batches. Nothing here imports PyTorch."""
