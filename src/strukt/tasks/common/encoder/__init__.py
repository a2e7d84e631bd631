"""Encoders of words: options, embeddings, and pretrained models."""
