"""The forward algorithm of semi-Markov chains (Sarawagi and Cohen 2004), as a table program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.kernels.engine.program import Program, ProgramBuilder


def build(n: int, shape: Sequence[int], pairs: Sequence[int]) -> Program:
    """Build the program of a sequence of n positions.

    Its inputs are ``segment[j, e, k - d]``, the score of the segment of d positions and label j that ends before
    e, and ``pair[t, j, i]``, the score of label i before a boundary and j after it. Cell ``ended[e, j]`` is the
    total of all paths to e whose last segment has label j, ``entered[j, t]`` that of paths to t whose next segment
    has label j; the latter is one cell for all labels if one number scores all pairs. Time O(n k c + n c^2).

    Args:
        n: The number of positions.
        shape: ``(size, k, c)``, the shape of the scores of segments, which come first in a row of scores.
        pairs: The shape of the scores of pairs, which follow: ``(c, c)`` or ``(1, 1)``, or with an axis of
            ``size - 1`` boundaries before these.

    Source: Sarawagi and Cohen 2004.
    """
    (size, k, c), (*steps, rows, _) = shape, pairs
    p = ProgramBuilder()
    j, end, back = np.ogrid[:c, : n + 1, k:0:-1]
    segment = p.scattered(np.where(back <= end, ((end - back) * k + back - 1) * c + j, -1), degrees=back)
    t, to, of = np.ogrid[: n - 1 if steps else 1, :rows, :c]
    pair = p.scattered(size * k * c + (t * rows + np.minimum(of, rows - 1)) * rows + to)
    entered, ended, ones = p.cells(rows, n), p.cells(n + 1, c), p.cells(c)
    p.leaf(entered[:, 0], ones)
    label, end = np.ogrid[:c, 1 : n + 1]
    first = np.maximum(end - k, 0)
    p.sum(
        ended[end, label], entered[label if rows > 1 else 0, first], count=end - first,
        each=segment[label, end, k - (end - first)], stage=2 * end,
    )  # fmt: skip
    to, t = np.ogrid[:rows, 1:n]
    p.sum(entered[to, t], ended[t, 0], count=c, each=pair[t - 1 if steps else 0, to, 0], stage=2 * t + 1)
    return p.build(ended[1:, 0], ones[0], count=c)


def cells(n: int, shape: Sequence[int], pairs: Sequence[int]) -> int:
    """Return the number of cells of the program that `build` returns."""
    return n * pairs[-2] + (n + 2) * shape[-1] + 1
