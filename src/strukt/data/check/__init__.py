"""Checking a corpus: all of its problems, and statistics of its contents."""

from strukt.data.check.tasks import PARTIAL, check

__all__ = ["PARTIAL", "check"]
