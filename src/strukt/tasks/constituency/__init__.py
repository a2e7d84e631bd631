"""Constituency parsing: the phrases of a sentence as a labelled tree."""

from strukt.tasks.constituency.config import Config

__all__ = ["Config"]
