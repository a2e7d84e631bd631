"""Numba kernels that check paths through grids and locate their scores: see `strukt.structures.events`."""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.events.cpu_calls import mask_of, places_of
from strukt.structures.monotone_alignment.reference import DELETE, INSERT, MATCH


def are_paths(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    return mask_of(_are_paths, moves, lengths, target_lengths)


@kernel
def _are_paths(moves: Array, lengths: Array, target_lengths: Array, are_valid: Array) -> None:
    """Write to ``are_valid`` True for each grid of moves that is a path, else False.

    The moves are followed back from the last cell. They must reach the first cell, whose move is a match, and no
    other cell may have a move. Moves are -1 (none) to 2. If both lengths are 0, the empty grid is a path.

    Arrays: ``moves (rows, n, m)``; ``lengths``, ``target_lengths``, and the result ``are_valid (rows,)``.
    """
    for row in range(len(moves)):
        n, m, visited, valid = lengths[row], target_lengths[row], 0, True
        for i in range(n):
            for j in range(m):
                valid &= -1 <= moves[row, i, j] < 3
                visited += moves[row, i, j] >= 0
        if n == 0 or m == 0:
            are_valid[row] = n == m
            continue
        i, j, steps = n - 1, m - 1, 1
        while valid and (i > 0 or j > 0):
            i, j = _before(moves[row, i, j], i, j)
            valid = i >= 0 and j >= 0
            steps += 1
        are_valid[row] = valid and moves[row, 0, 0] == MATCH and steps == visited


@inner
def _before(move: int, i: int, j: int) -> tuple[int, int]:
    """Return the cell from which a move into cell (i, j) comes, perhaps outside the grid; (-1, -1) for none."""
    if move == MATCH:
        return i - 1, j - 1
    if move == INSERT:
        return i, j - 1
    return (i - 1, j) if move == DELETE else (-1, -1)


def path_places(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    rows, n, m = moves.shape
    return places_of(_path_places, (rows, max(n + m - 1, 0)), moves, lengths, target_lengths)


@kernel
def _path_places(
    moves: Array, lengths: Array, target_lengths: Array, entering: Array, following: Array
) -> None:
    """Write the places of the moves of paths to ``entering``, and those of pairs of moves to ``following``.

    They are in the order from the last cell to the first. Unused entries of the results are not written.

    Arrays: ``moves (rows, n, m)``; ``lengths`` and ``target_lengths (rows,)``; the results ``entering`` and
    ``following (rows, n + m - 1)``.
    """
    columns = moves.shape[2]
    for row in range(len(moves)):
        i, j, count = lengths[row] - 1, target_lengths[row] - 1, 0
        while i >= 0 and j >= 0 and moves[row, i, j] >= 0:
            move = min(moves[row, i, j], 2)
            entering[row, count] = (i * columns + j) * 3 + move
            if i == 0 and j == 0:
                break
            i, j = _before(move, i, j)
            if i >= 0 and j >= 0:
                following[row, count] = 3 * max(min(moves[row, i, j], 2), 0) + move
            count += 1
