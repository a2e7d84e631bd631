"""Explanations of events of probability 0, which are invalid or use a forbidden part; in plain Python."""
