"""Explanations of events of probability 0, invalid or with a forbidden part, in plain Python over one item."""
