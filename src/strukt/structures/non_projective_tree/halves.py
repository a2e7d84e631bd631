"""Divide and conquer of eliminations: all words but one, for each word in turn, in O(n^3) in total.

Eliminating all words but one takes O(n^3), but the work can be shared: divide the words into two halves, eliminate
one half, and recurse into the other; then exchange the halves. If eliminating one half of s words takes c s^3, the
total is 2 c n^3 (1 + 1/4 + 1/16 ...).

A *block* is a set of s words that remain, with the matrix ``(s, roots + s)`` of their weights. Rows are first the
words that it keeps, then those that it eliminates, the last row first. Columns are the root, in ``roots`` columns,
and the same words. After the elimination, the rows of eliminated words hold the shares of their remaining heads.
The words that a block keeps are those of the two blocks below it: each keeps one half of them, and eliminates the
other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, write

FIRST, KEPT, OTHER, COUNT, START, PARENT = range(6)
"""The columns of a plan: first kept word, number kept, first eliminated word, number eliminated, offset of the
matrix, and index of the parent block, -1 for none.
"""


@inner
def plan(n: int, roots: int) -> tuple[Array, int]:
    """Return the blocks ``(2 n - 1, 6)`` of n >= 1 words, each after its parent, and the total size of matrices.

    The first block keeps all words. Blocks that keep one word have no blocks below them.
    """
    blocks = np.zeros((2 * n - 1, 6), np.int64)
    blocks[0, KEPT] = n
    blocks[0, PARENT] = -1
    made, size = 1, n * (n + roots)
    for b in range(2 * n - 1):
        first, words = blocks[b, FIRST], blocks[b, KEPT]
        if words == 1:
            continue
        half = words // 2
        for part in range(2):
            block = blocks[made]
            block[FIRST] = first if part == 0 else first + half
            block[KEPT] = half if part == 0 else words - half
            block[OTHER] = first + half if part == 0 else first
            block[COUNT] = words - block[KEPT]
            block[START], block[PARENT] = size, b
            size += words * (words + roots)
            made += 1
    return blocks, size


@inner
def matrix(flat: Array | None, block: Array, roots: int) -> Any:
    """Return a view of the matrix of a block in ``flat``, the matrices of all blocks; None if ``flat`` is None."""
    if flat is None:
        return None
    size = block[KEPT] + block[COUNT]
    return flat[block[START] : block[START] + size * (size + roots)].reshape(size, size + roots)


@inner
def copy_down(above: Array | None, parent: Array, block: Array, roots: int, below: Array | None) -> None:
    """Fill ``below``, the matrix of a block, from ``above``, that of its parent; do nothing if either is None.

    Words are in a different order in the parent. ``parent`` and ``block`` are rows of `plan`.
    """
    if above is None or below is None:
        return
    kept, count = block[KEPT], block[COUNT]
    first, other = block[FIRST] - parent[FIRST], block[OTHER] - parent[FIRST]
    for i in range(kept + count):
        row = above[first + i if i < kept else other + i - kept]
        write(below[i, :roots], row[:roots])
        write(below[i, roots : roots + kept], row[roots + first : roots + first + kept])
        write(below[i, roots + kept :], row[roots + other : roots + other + count])


@inner
def word_at(block: Array, place: int) -> int:
    """Return the word in row ``place`` of a block, counted from 0."""
    return block[FIRST] + place if place < block[KEPT] else block[OTHER] + place - block[KEPT]  # type: ignore[no-any-return]
