"""Inference over the oracles of a structure (mode, marginals, log-partition), independent of any class."""
