"""The forward algorithm of linear chains (Rabiner 1989) as a table program; with maxima it is Viterbi's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.kernels.engine.program import Program, ProgramBuilder


def build(n: int, shape: Sequence[int], pairs: Sequence[int]) -> Program:
    """Build the program of a chain of n positions.

    Its inputs are ``tag[t, j]``, the score of tag j at t, and ``pair[t, j, i]``, that of tag i at t followed by
    tag j. Cell ``way[t, j]`` is the total of all paths that end in tag j at t. Time O(n c^2).

    Args:
        n: The number of positions.
        shape: ``(size, c)``, the shape of the scores of tags, which come first in a row of scores.
        pairs: ``(steps, c, c)``, the shape of the scores of pairs, which follow; ``steps`` is ``size - 1``, or 1
            if all steps share them.

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
    """Return the number of cells of the program that `build` returns."""
    return (n + 1) * shape[-1] + 1
