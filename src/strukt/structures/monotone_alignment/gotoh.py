"""Gotoh's algorithm for monotone alignments (Gotoh 1982), as a table program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.kernels.engine.program import Program, ProgramBuilder
from strukt.structures.monotone_alignment.reference import STEPS


def build(n: int, m: int, shape: Sequence[int], _pairs: Sequence[int]) -> Program:
    """Build the program of paths through n x m cells.

    Its inputs are ``move[i, j, b]``, the score of move b into cell (i, j), and ``pair[b, a]``, that of move b
    right after move a. Cell ``path[i, j, b]`` is the total of all paths that enter (i, j) by move b. Time O(n m).

    Args:
        n: The number of rows.
        m: The number of columns; if 0, there is no path.
        shape: ``(rows, columns, 3)``, the shape of the scores of moves. They come first in the flat array of an
            item's scores; those of pairs, ``(3, 3)``, follow.

    Source: Gotoh 1982.
    """
    p = ProgramBuilder()
    i, j, b = np.ogrid[:n, :m, :3]
    move = p.scattered((i * shape[1] + j) * 3 + b, degrees=np.where(b == 0, 2, 1))
    after, before = np.ogrid[:3, :3]
    pair = p.scattered(int(np.prod(shape)) + before * 3 + after)
    path, ones, none = p.cells(n, m, 3), p.cells(3), p.cells(3)
    p.leaf(ones)
    ends = np.concatenate([np.full((n, 1), none[0]), path[:, :, 0]], 1)  # no path through no columns
    if m == 0:
        return p.build(ends, ones[0], count=3)
    p.sum(path[0, 0, 0], ones[0], weight=move[0, 0, 0], stage=0)
    for way, (down, right) in enumerate(STEPS):
        i, j = np.ogrid[down:n, right:m]
        before = path[i - down, j - right, 0]
        p.sum(path[i, j, way], before, count=3, weight=move[i, j, way], each=pair[way, 0], stage=i + j)
    return p.build(ends, ones[0], count=3)


def cells(n: int, m: int, _shape: Sequence[int], _pairs: Sequence[int]) -> int:
    """Return the number of cells of the program that `build` returns."""
    return 3 * n * m + 7
