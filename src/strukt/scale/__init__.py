"""Prediction over corpora that are too large for one process: cut into shards, each done once, by any number."""
