"""Checks over all structures of a program at once, independent of scores."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT
from strukt.kernels.jit import inner, kernel, write

WORDS = 16
"""The number of 64-bit words in a set of weights; 64 times as many weights are checked together."""


@kernel
def first_twice(rows: Array, leaves: Array, cells: int, first: int) -> tuple[int, int, int]:
    """Return the first row and term by which a structure uses a weight twice, and that weight; -1 each for none.

    `WORDS` times 64 weights from ``first`` on are checked. ``rows (rows, 7)`` and ``leaves (leaves,)`` are those
    of `Program`.
    """
    below, possible = np.zeros((cells, WORDS), np.uint64), np.zeros(cells, np.bool_)
    possible[leaves] = True
    term, total = np.empty(WORDS, np.uint64), np.empty(WORDS, np.uint64)
    for s in range(rows.shape[0]):
        left, right, whole, each = rows[s, LEFT], rows[s, RIGHT], rows[s, WEIGHT], rows[s, EACH]
        total[:] = 0
        some = False
        for k in range(rows[s, COUNT]):
            if not possible[left + k] or (right >= 0 and not possible[right + k]):
                continue
            some = True
            write(term, below[left + k])
            if right >= 0:
                for word in range(WORDS):
                    both = term[word] & below[right + k, word]
                    if both != 0:
                        return s, k, first + 64 * word + _lowest(both)
                    term[word] |= below[right + k, word]
            if whole >= 0 and not _add(term, whole - first):
                return s, k, whole
            if each >= 0 and not _add(term, each + k - first):
                return s, k, each + k
            for word in range(WORDS):
                total[word] |= term[word]
        below[rows[s, OUT]] = total
        below[rows[s, MIRROR]] = total
        possible[rows[s, OUT]] = possible[rows[s, MIRROR]] = some
    return -1, -1, -1


@inner
def _add(term: Array, weight: int) -> bool:
    """Add a weight to the set ``term (WORDS,)``; return False if it is in the set already.

    Weights are numbered from the first one that is checked. Others are not added, and the result is True.
    """
    if weight < 0 or weight >= 64 * WORDS:
        return True
    bit = np.uint64(1) << np.uint64(weight % 64)
    if term[weight // 64] & bit != 0:
        return False
    term[weight // 64] |= bit
    return True


@inner
def _lowest(word: int) -> int:
    """Return the index of the lowest bit that is 1, of a word that is not 0."""
    place = 0
    while word & (np.uint64(1) << np.uint64(place)) == 0:
        place += 1
    return place


@kernel
def extremes(rows: Array, leaves: Array, cells: int, top: int, lengths: Array) -> tuple[float, float]:
    """Return the smallest and the largest sum of ``lengths (weights,)`` over a structure.

    They are inf and -inf if there is no structure. ``rows (rows, 7)``, ``leaves (leaves,)`` and ``top`` are those
    of `Program`.
    """
    least, most = np.full(cells, np.inf), np.full(cells, -np.inf)
    least[leaves] = 0.0
    most[leaves] = 0.0
    for s in range(rows.shape[0]):
        left, right, whole, each = rows[s, LEFT], rows[s, RIGHT], rows[s, WEIGHT], rows[s, EACH]
        low, high = np.inf, -np.inf
        for k in range(rows[s, COUNT]):
            a, b = least[left + k], most[left + k]
            if right >= 0:
                a += least[right + k]
                b += most[right + k]
            if each >= 0:
                a += lengths[each + k]
                b += lengths[each + k]
            low, high = min(low, a), max(high, b)
        length = lengths[whole] if whole >= 0 else 0.0
        least[rows[s, OUT]] = least[rows[s, MIRROR]] = low + length
        most[rows[s, OUT]] = most[rows[s, MIRROR]] = high + length
    return least[top], most[top]
