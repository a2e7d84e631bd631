"""Algorithms over the oracles of a structure; they know no class."""
