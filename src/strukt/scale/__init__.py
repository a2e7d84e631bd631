"""Prediction for corpora that are too large for one process: they are split into shards for many workers."""
