"""Constituency parsing: the phrases of a sentence as a tree, with labels."""

from strukt.tasks.constituency.config import Config

__all__ = ["Config"]
