"""Sorting: the numbers of a line from the smallest to the largest."""

from strukt.tasks.sort.config import Config

__all__ = ["Config"]
