"""Distributions over texts with a common interface, one for each kind of language model."""
