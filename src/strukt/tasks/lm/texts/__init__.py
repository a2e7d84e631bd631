"""Distributions over texts, each made of something else, which a language model asks in the same way."""
