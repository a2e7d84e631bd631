"""Grids of cells, and the monotone paths through them."""

from __future__ import annotations

import math
from functools import cache

from torch import Tensor

from strukt.structures.monotone_alignment.reference import MATCH, STEPS


def any_before(cells: Tensor, rows: bool, columns: bool) -> Tensor:
    """Return a mask of the cells that are marked, or that have a marked cell before them on both axes.

    A cell in the same row or column counts. On an axis whose argument, ``rows`` or ``columns``, is False, marked
    cells after a cell count in place of those before it.
    """
    counts = cells.long()
    for axis, forward in ((-2, rows), (-1, columns)):
        counts = counts.cumsum(axis) if forward else counts.flip(axis).cumsum(axis).flip(axis)
    return counts > 0


def number_of_paths(n: int, m: int) -> int:
    """Return the number of paths through n x m cells, the Delannoy number D(n - 1, m - 1); 1 if n or m is 0."""
    return sum(math.comb(n - 1, k) * math.comb(m - 1, k) << k for k in range(min(n, m))) if n and m else 1


@cache
def paths_to(i: int, j: int) -> list[tuple[tuple[int, int, int], ...]]:
    """Return all paths from the first cell to (i, j), as tuples of triples (row, column, move into the cell)."""
    if i == j == 0:
        return [((0, 0, MATCH),)]
    return [
        (*path, (i, j, move))
        for move, (down, right) in enumerate(STEPS)
        if i >= down and j >= right
        for path in paths_to(i - down, j - right)
    ]
