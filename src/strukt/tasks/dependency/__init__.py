"""Dependency parsing: the head of each word and the label of the arc to it."""

from strukt.tasks.dependency.config import Config

__all__ = ["Config"]
