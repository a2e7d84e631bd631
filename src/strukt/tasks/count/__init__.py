"""Counting: the number of chunks of ones in a line of zeros and ones."""

from strukt.tasks.count.config import Config

__all__ = ["Config"]
