"""The best path through the grid and the k best, by a forward pass over scores.

A path is chosen from the last cell to the first by the move into each of its cells, which says what cell comes
before.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_candidates import Candidates, make_candidates, offer_others, take
from strukt.kernels.jit import inner, kernel
from strukt.structures.monotone_alignment.cpu_forward import DELETE, INSERT, Array


@inner
def cell_before(i: int, j: int, move: int) -> tuple[int, int]:
    """The cell from which a move leads to a cell."""
    return i - int(move != INSERT), j - int(move != DELETE)


@inner
def _load_ways(values: Array, transition: Array, move: int, ways: Array) -> float:
    """The best score of each move into a cell that is left by a move; gives the best of them."""
    for a in range(3):
        ways[a] = values[a] + transition[a, move]
    return max(max(ways[0], ways[1]), ways[2])  # type: ignore[no-any-return]


@inner
def _fill(moves: Array, transition: Array, values: Array) -> None:
    """The best score of each move into each cell, ``(n, m, 3)``."""
    ways = np.empty(3)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            for move in range(3):
                row, column = cell_before(i, j, move)
                value = 0.0 if i + j + move == 0 else -np.inf
                if row >= 0 and column >= 0:
                    value = _load_ways(values[row, column], transition, move, ways)
                values[i, j, move] = value + moves[i, j, move]


@inner
def _complete(values: Array, transition: Array, ways: Array, path: Array, i: int, j: int) -> None:
    """Fill in the best moves before a cell, of which the move is given; ``ways`` is room for three."""
    while i + j > 0:
        move = path[i, j]
        i, j = cell_before(i, j, move)
        _load_ways(values[i, j], transition, move, ways)
        path[i, j] = np.argmax(ways)


@kernel
def best(
    moves: Array, transition: Array, lengths: Array, target_lengths: Array, path: Array, score: Array, start: int,
    step: int,
) -> None:  # fmt: skip
    """The moves of the best path of each item and its score."""
    ways, batch = np.empty(3), moves.shape[0]
    for b in range(start, batch, step):
        n, m = lengths[b], target_lengths[b]
        if n == 0 or m == 0:
            score[b] = 0.0 if n == m else -np.inf
            continue
        values, pairs = np.empty((n, m, 3)), transition[b * transition.shape[0] // batch]
        _fill(moves[b], pairs, values)
        last = np.argmax(values[n - 1, m - 1])
        score[b] = values[n - 1, m - 1, last]
        if score[b] > -np.inf:
            path[b, n - 1, m - 1] = last
            _complete(values, pairs, ways, path[b], n - 1, m - 1)


@kernel
def kbest(
    moves: Array, transition: Array, lengths: Array, target_lengths: Array, paths: Array, scores: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """The moves of the k best paths of each item ``(batch, k, n, m)`` and their scores ``(batch, k)``."""
    batch = moves.shape[0]
    for b in range(start, batch, step):
        n, m = lengths[b], target_lengths[b]
        if n == 0 or m == 0:
            scores[b, 0] = 0.0 if n == m else -np.inf
            continue
        values, pairs = np.empty((n, m, 3)), transition[b * transition.shape[0] // batch]
        _fill(moves[b], pairs, values)
        last = np.argmax(values[n - 1, m - 1])
        scores[b, 0] = values[n - 1, m - 1, last]
        if scores[b, 0] > -np.inf:
            paths[b, 0, n - 1, m - 1] = last
            _list(values, pairs, paths[b], scores[b])


@inner
def _list(values: Array, transition: Array, paths: Array, scores: Array) -> None:
    """The best paths in order, each a deviation from one before it; the place of a cell is its diagonal."""
    k, n, m = len(paths), values.shape[0], values.shape[1]
    ways, candidates, place = np.empty(3), make_candidates(k), n + m - 1
    _complete(values, transition, ways, paths[0], n - 1, m - 1)
    for rank in range(1, k):
        _offer_deviations(
            values, transition, ways, paths[rank - 1], scores[rank - 1], rank - 1, place, candidates
        )
        scores[rank], parent, place, move = take(candidates)
        if scores[rank] == -np.inf:
            return
        i, j = _copy_until(paths[parent], paths[rank], n - 1, m - 1, place)
        paths[rank, i, j] = move
        _complete(values, transition, ways, paths[rank], i, j)


@inner
def _copy_until(path: Array, copy: Array, i: int, j: int, place: int) -> tuple[int, int]:
    """Copy the moves of a path from a cell back to a diagonal; gives the cell there."""
    while i + j > place:
        copy[i, j] = path[i, j]
        i, j = cell_before(i, j, path[i, j])
    return i, j


@inner
def _offer_deviations(
    values: Array, transition: Array, ways: Array, path: Array, score: float, rank: int, place: int,
    candidates: Candidates,
) -> None:  # fmt: skip
    """Offer the other moves into the cells before diagonal ``place``."""
    i, j = values.shape[0] - 1, values.shape[1] - 1
    ways[:] = values[i, j]
    while i + j > 0:
        move = path[i, j]
        if i + j < place:
            offer_others(candidates, rank, i + j, ways, move, score)
        i, j = cell_before(i, j, move)
        _load_ways(values[i, j], transition, move, ways)
