"""Sorting: the numbers of a line in ascending order."""

from strukt.tasks.sort.config import Config

__all__ = ["Config"]
