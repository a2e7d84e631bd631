"""Switching backends, threads and what uninitialised memory holds."""

from tests.backends import four_threads, on, poisoned_memory  # noqa: F401
