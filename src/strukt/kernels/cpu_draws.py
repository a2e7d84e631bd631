"""Many draws from the same weights: a table once, then a search for each draw."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from strukt.kernels.jit import kernel

Array = npt.NDArray[Any]

VECTORS = 64
"""Entries of a table that are as fast to go through as to halve."""


@kernel
def accumulate(weights: Array) -> None:
    """Replace weights by the probability of an index up to each, 1 from the last on that is possible."""
    for i in range(1, weights.shape[0]):
        weights[i] += weights[i - 1]
    whole = weights[weights.shape[0] - 1]
    for i in range(weights.shape[0]):
        weights[i] = weights[i] / whole


@kernel
def find(cumulative: Array, uniform: float) -> int:
    """The first index whose cumulative probability exceeds a number from 0 to before 1: never an impossible one.

    It halves down to `VECTORS` entries and counts in these: that takes vector instructions, while halving guesses
    wrong at every other branch.
    """
    first, size = 0, cumulative.shape[0]
    while size > VECTORS:
        half = size // 2
        if cumulative[first + half - 1] <= uniform:
            first += half
        size -= half
    return first + _count(cumulative[first : first + size], uniform)


@kernel
def find_of_three(cumulative: Array, uniform: float) -> int:
    """The same for a table of three entries."""
    return int(cumulative[0] <= uniform) + int(cumulative[1] <= uniform)


@kernel
def _count(cumulative: Array, uniform: float) -> int:
    """How many entries do not exceed a number."""
    count = 0
    for i in range(cumulative.shape[0]):
        count += int(cumulative[i] <= uniform)
    return count
