"""Brute-force enumeration of paths through a grid."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.structures.enumeration import Table

STEPS = {0: (1, 1), 1: (0, 1), 2: (1, 0)}
"""The rows and columns by which each move advances: match, insert, delete."""


def monotone_alignment(length: int, target_length: int, moves: Tensor, transition: Tensor) -> Table:
    """Return all paths from the first cell of a grid to the last.

    Args:
        length: The number of rows in use.
        target_length: The number of columns in use.
        moves: ``(n, m, 3)``, the scores of match, insert and delete into each cell.
        transition: ``(3, 3)``; ``[a, b]`` scores move a followed by move b.
    """
    events, parts, totals = [], [], []
    for path in _paths(length, target_length):
        i, j, move = torch.tensor(path, dtype=torch.long).reshape(-1, 3).unbind(1)
        part = torch.zeros(moves.shape, dtype=torch.float64)
        part[i, j, move] = 1
        events.append(torch.full(moves.shape[:2], -1).index_put((i, j), move))
        parts.append(part)
        totals.append(moves.double()[i, j, move].sum() + transition.double()[move[:-1], move[1:]].sum())
    return Table(torch.stack(events), torch.stack(parts), torch.stack(totals))


def _paths(rows: int, columns: int) -> list[list[tuple[int, int, int]]]:
    """Return all paths, each a list of (row, column, move into this cell); a match enters the first cell."""
    if rows == columns == 0:
        return [[]]
    unfinished, finished = [[(0, 0, 0)]], []
    while unfinished:
        path = unfinished.pop()
        i, j, _ = path[-1]
        if (i, j) == (rows - 1, columns - 1):
            finished.append(path)
        elif i < rows and j < columns:
            unfinished += [[*path, (i + down, j + right, move)] for move, (down, right) in STEPS.items()]
    return finished
