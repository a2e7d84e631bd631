"""Distributions over texts with a common interface, a class for each kind of language model."""
