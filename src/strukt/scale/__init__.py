"""Prediction for corpora that are too large for one process, which are split into shards for many workers."""
