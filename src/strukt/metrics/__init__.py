"""Scores as small counters: attachment, spans, accuracy. Nothing here imports PyTorch."""
