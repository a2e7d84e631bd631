"""Sampling in kernels: random numbers, and cached cumulative weights that samples share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel

MOST_KEPT = 1 << 22
"""The largest number of cached weights."""

VECTORS = 64
"""The number of sums up to which a linear search is as fast as bisection."""

STEP = np.uint64(0x9E3779B97F4A7C15)
MIX, MIX_MORE = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""The increment and the multipliers of SplitMix64."""


@kernel
def uniform(state: Array) -> float:
    """Return a random number in [0, 1), and update ``state (1,)`` of type uint64, at first the seed.

    The generator is SplitMix64 (Steele et al. 2014).
    """
    state[0] += STEP
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * MIX
    z = (z ^ (z >> np.uint64(27))) * MIX_MORE
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


class Kept(NamedTuple):
    """A cache of cumulative weights by key.

    Attributes:
        rows: ``(keys,)``, the row of each key; 0 if its weights are not cached.
        sums: ``(rows + 1, width)``, cumulative weights. Row 0 is workspace for keys that do not fit in the cache.
        used: ``(1,)``, the number of rows in use.
    """

    rows: Array
    sums: Array
    used: Array


@kernel
def make_kept(keys: int, most: int, width: int) -> Kept:
    """Allocate an empty cache of at most ``most`` rows of up to ``width`` weights, for keys below ``keys``."""
    rows = 1 + min(keys, most, MOST_KEPT // width)
    return Kept(np.zeros(keys, np.int32), np.empty((rows, width)), np.zeros(1, np.int64))


@kernel
def row_of(kept: Kept, key: int) -> tuple[int, bool]:
    """Return the row for the weights of a key, and True if they are cached already.

    If not, the caller writes them to that row: a new one, or row 0 if the cache is full.
    """
    row = kept.rows[key]
    if row > 0:
        return row, True
    if kept.used[0] + 1 == len(kept.sums):
        return 0, False
    kept.used[0] += 1
    kept.rows[key] = kept.used[0]
    return kept.used[0], False


@kernel
def accumulate(weights: Array) -> None:
    """Replace ``weights (count,)`` by cumulative probabilities, which are 1 from the last positive weight on.

    At least one weight must be positive.
    """
    for i in range(1, weights.shape[0]):
        weights[i] += weights[i - 1]
    whole = weights[weights.shape[0] - 1]
    for i in range(weights.shape[0]):
        weights[i] = weights[i] / whole


@inner
def find_of_three(cumulative: Array, number: float) -> int:
    """Return the index that a random number in [0, 1) selects; ``cumulative (3,)`` is from `accumulate`."""
    return int(cumulative[0] <= number) + int(cumulative[1] <= number)


@kernel
def find(sums: Array, first: int, count: int, number: float) -> int:
    """Return the index that a random number in [0, 1) selects from cumulative weights; never one of weight zero.

    The cumulative weights are the ``count`` entries of the vector ``sums`` from ``first`` on. Bisection narrows
    them down to `VECTORS` entries, and a vectorised count does the rest: the steps of a bisection depend on each
    other, and so are slow.
    """
    threshold, low = number * sums[first + count - 1], first
    while count > VECTORS:
        half = count // 2
        low += half * int(sums[low + half - 1] <= threshold)
        count -= half
    return low - first + _count(sums[low : low + count - 1], threshold)


@inner
def _count(sums: Array, target: float) -> int:
    """Return the number of entries that do not exceed a number."""
    count = 0
    for k in range(sums.shape[0]):
        count += int(sums[k] <= target)
    return count
