"""The forward algorithm of linear chains (Rabiner 1989), as a table program; Viterbi's algorithm in maxima."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.kernels.engine.program import Program, ProgramBuilder


def build(n: int, shape: Sequence[int], pairs: Sequence[int]) -> Program:
    """Build the program of n tags, from ``tag[t, j]`` and ``pair[t, j, i]``, tag i at t followed by tag j.

    ``way[t, j]`` is the total of all ways to tag j at t. Time O(n c^2).

    Args:
        n: The number of positions.
        shape: The shape of the scores of tags at the start of a row, ``(size, c)``.
        pairs: The shape of the scores of pairs after them, ``(steps, c, c)``, with ``size - 1`` steps or one for
            all.

    Source: Rabiner 1989.
    """
    (size, c), (steps, _, _) = shape, pairs
    p = ProgramBuilder()
    t, j = np.ogrid[:n, :c]
    tag = p.scattered(t * c + j, times=n)
    step, to, of = np.ogrid[: min(n - 1, steps), :c, :c]
    pair = p.scattered(size * c + (step * c + of) * c + to)
    way, ones = p.cells(n, c), p.cells(c)
    p.leaf(ones)
    p.sum(way[0], ones, weight=tag[0], stage=0)
    t, j = np.ogrid[1:n, :c]
    p.sum(way[t, j], way[t - 1, 0], count=c, weight=tag[t, j], each=pair[np.minimum(t, steps) - 1, j, 0], stage=t)
    return p.build(way[:, 0], ones[0], count=c)


def cells(n: int, shape: Sequence[int], _pairs: Sequence[int]) -> int:
    """Return the number of cells of the program that `build` writes."""
    return (n + 1) * shape[-1] + 1
