"""Eisner's algorithm with scores of neighbouring siblings (McDonald and Pereira 2006), as a table program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import Program, ProgramBuilder


def build(n: int, single_root: bool, arcs: Sequence[int], siblings: Sequence[int]) -> Program:
    """Build the program of projective trees over n words with scores of adjacent siblings.

    Nodes are the words 1 to n and the root 0. The inputs are ``arc[m - 1, h]``, the weight of head h for word m,
    and ``pair[h, m - 1, s - 1]``, that of neighbouring dependents m and s on the same side of h, s nearer to h.
    Cells are totals: ``half[h, e]`` of half-trees headed by h whose other end is word e; ``ending[e, h]`` the
    same, copied so that runs are consecutive; ``open_[h, m]`` of the words between h and its farthest dependent m
    so far, with the arc from h to m, but without m's dependents beyond m; ``between[i, j]`` of two half-trees,
    headed by i and j, that meet between them; ``ways[h, m]`` of open_[h, m] before the arc's weight, ``[0]`` if m
    is the nearest dependent of h on its side, ``[1]`` if there is a nearer one. Time O(n^3).

    Args:
        n: The number of words.
        single_root: Whether exactly one word depends on the root.
        arcs: ``(size, size + 1)``, the shape of the scores of arcs, ``[m - 1, h]``, which come first in the flat
            array of an item's scores.
        siblings: ``(size, size, size + 1)``, the shape of the scores of siblings, ``[m - 1, s - 1, h]``, which
            follow.

    Source: McDonald and Pereira 2006.
    """
    p = ProgramBuilder()
    arc, pair = _weights(p, n, arcs[0], single_root)
    half, ending, open_, between = (p.cells(n + 1, n + 1) for _ in range(4))
    ways, node = p.cells(n + 1, n + 1, 2), np.arange(n + 1)
    p.leaf(half[node, node], ending[node, node])
    i, j = np.triu_indices(n + 1, 1)
    word = i > 0
    i, j, roots = i[word], j[word], node[1:]
    p.sum(between[i, j], half[i, i], half[j, i + 1], count=j - i, mirror=between[j, i], stage=4 * (j - i))
    head, dependent = np.concatenate([i, j]), np.concatenate([j, i])
    if not single_root:
        head, dependent = np.append(head, 0 * roots), np.append(dependent, roots)
    low, width, right = np.minimum(head, dependent), abs(head - dependent), head < dependent
    facing = half[dependent, np.where(right, head + 1, head - 1)]
    p.sum(ways[head, dependent, 0], facing, stage=4 * width)
    far = width > 1
    h, m, s = head[far], dependent[far], low[far] + 1
    p.sum(
        ways[h, m, 1], open_[h, s], between[m, s], count=width[far] - 1, each=pair[h, m - 1, s - 1],
        stage=4 * width[far] + 1,
    )  # fmt: skip
    p.sum(
        open_[head, dependent], ways[head, dependent, 0], count=1 + far, weight=arc[dependent - 1, head],
        stage=4 * width + 2,
    )  # fmt: skip
    nearest = low + right
    p.sum(
        half[head, dependent], open_[head, nearest], ending[dependent, nearest], count=width,
        mirror=ending[dependent, head], stage=4 * width + 3,
    )  # fmt: skip
    if not single_root:
        return p.build(half[0, 1:])
    rooted = p.cells(n)
    p.sum(rooted, half[roots, 1], weight=arc[:, 0], stage=4 * n)
    return p.build(rooted[0], ending[roots, 1], count=roots)


def _weights(p: ProgramBuilder, n: int, size: int, single_root: bool) -> tuple[Array, Array]:
    """Declare the weights of arcs, ``[m - 1, h]``, and of siblings, ``[h, m - 1, s - 1]``; return their indices.

    ``size`` is the largest number of words, by which scores are indexed.
    """
    m, h = np.ogrid[1 : n + 1, : n + 1]
    arc = p.scattered(np.where(m != h, (m - 1) * (size + 1) + h, -1), times=n)
    h, m, s = np.ogrid[: n + 1, 1 : n + 1, 1 : n + 1]
    between = ((h < s) & (s < m) & (h >= int(single_root))) | ((m < s) & (s < h))
    places = size * (size + 1) + ((m - 1) * size + s - 1) * (size + 1) + h
    return arc, p.scattered(np.where(between, places, -1))


def cells(_single_root: bool, arcs: Sequence[int], _siblings: Sequence[int]) -> int:
    """Return the number of cells of the program that `build` returns, or slightly more."""
    n = arcs[0]
    return 6 * (n + 1) * (n + 1) + n + 3
