"""Counting: how many chunks of ones a line of zeros and ones has."""

from strukt.tasks.count.config import Config

__all__ = ["Config"]
