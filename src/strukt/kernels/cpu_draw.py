"""Draws in kernels: random numbers, and weights that are kept because samples ask for them again and again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import inner, kernel

Array = npt.NDArray[Any]

MOST_KEPT = 1 << 22
"""How many weights are kept at most."""

VECTORS = 64
"""How many sums are as fast to go through as to halve."""

STEP = np.uint64(0x9E3779B97F4A7C15)
MIX, MIX_MORE = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@kernel
def uniform(state: Array) -> float:
    """A random number from 0 to below 1; the state is 64 bits, first a seed (SplitMix64, Steele et al. 2014)."""
    state[0] += STEP
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * MIX
    z = (z ^ (z >> np.uint64(27))) * MIX_MORE
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


class Kept(NamedTuple):
    """Weights that are kept from the first time on.

    Attributes:
        rows: ``(keys,)``, the row of each key; 0 if its weights are not kept.
        sums: ``(rows + 1, width)``, weights that are summed from the first one on. Row 0 is for those that are not
            kept, because there are too many.
        used: ``(1,)``, how many rows are kept.
    """

    rows: Array
    sums: Array
    used: Array


@kernel
def make_kept(keys: int, most: int, width: int) -> Kept:
    """Room for at most so many rows; nothing is kept yet."""
    rows = 1 + min(keys, most, MOST_KEPT // width)
    return Kept(np.zeros(keys, np.int32), np.empty((rows, width)), np.zeros(1, np.int64))


@kernel
def row_of(kept: Kept, key: int) -> tuple[int, bool]:
    """The row for the weights of a key, and whether they are there already."""
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
    """Replace weights by the probability of an index up to each, 1 from the last on that is possible."""
    for i in range(1, weights.shape[0]):
        weights[i] += weights[i - 1]
    whole = weights[weights.shape[0] - 1]
    for i in range(weights.shape[0]):
        weights[i] = weights[i] / whole


@inner
def find_of_three(cumulative: Array, number: float) -> int:
    """What a random number draws from three weights that `accumulate` has replaced."""
    return int(cumulative[0] <= number) + int(cumulative[1] <= number)


@kernel
def find(sums: Array, first: int, count: int, number: float) -> int:
    """Which of some weights, summed up from ``first`` on, a random number draws; never one of weight zero.

    It halves down to `VECTORS` sums and counts in these: that takes vector instructions, while each half waits for
    the one before.
    """
    wanted, low = number * sums[first + count - 1], first
    while count > VECTORS:
        half = count // 2
        low += half * int(sums[low + half - 1] <= wanted)
        count -= half
    return low - first + _count(sums[low : low + count - 1], wanted)


@kernel
def _count(sums: Array, wanted: float) -> int:
    """How many do not exceed a number."""
    count = 0
    for k in range(sums.shape[0]):
        count += int(sums[k] <= wanted)
    return count
