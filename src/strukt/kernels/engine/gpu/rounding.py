"""Sizes of tables: rounded up, so that few tables serve batches of all sizes."""

from __future__ import annotations

from collections.abc import Callable

Up = Callable[[int], int]
"""A function that returns a size for the table of a batch of this size: `rounded`, or `bound`."""


def rounded(size: int) -> int:
    """Return a size rounded up to one of four in each octave.

    Examples:
        >>> [rounded(size) for size in (0, 7, 8, 9, 17, 1000)]
        [0, 7, 8, 10, 20, 1024]
    """
    step = max(1 << size.bit_length() >> 3, 1)
    return -(-size // step) * step


def bound(size: int) -> int:
    """Return an upper bound on `rounded` for a size that may be symbolic.

    Examples:
        >>> all(bound(size) >= rounded(size) for size in range(1000))
        True
    """
    return size + size // 4
