"""The Needleman-Wunsch algorithm: the k best paths through the grid, by a forward pass over maxima.

A path is traced back from the last cell by the moves into its cells. The table program takes 2.5 times as long for
8 paths, 3.5 times for one.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, choice_of_value, make_search, start, take
from strukt.kernels.jit import inner, kernel, write
from strukt.structures.monotone_alignment.reference import DELETE, INSERT


@inner
def cell_before(i: int, j: int, move: int) -> tuple[int, int]:
    """Return the row and column of the cell from which a move leads to cell (i, j)."""
    return i - int(move != INSERT), j - int(move != DELETE)


@inner
def _load_ways(values: Array, transition: Array, move: int, ways: Array) -> float:
    """Write the best score of a path into a cell by each move, and then by ``move``, to ``ways (3,)``.

    ``values (3,)`` holds the scores without the transition to ``move``. Return the best of the three.
    """
    for a in range(3):
        ways[a] = values[a] + transition[a, move]
    return max(max(ways[0], ways[1]), ways[2])  # type: ignore[no-any-return]


@inner
def _fill(moves: Array, transition: Array, values: Array) -> None:
    """Write the best score of a path that ends with each move into each cell.

    Arrays: ``moves (n, m, 3)``, the scores; ``transition (3, 3)``; ``values (n, m, 3)``, the result.
    """
    ways = np.empty(3)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            for move in range(3):
                row, column = cell_before(i, j, move)
                value = 0.0 if i + j + move == 0 else -np.inf
                if row >= 0 and column >= 0:
                    value = _load_ways(values[row, column], transition, move, ways)
                values[i, j, move] = value + moves[i, j, move]


@kernel
def kbest(
    moves: Array, transition: Array, lengths: Array, target_lengths: Array, paths: Array, scores: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write the moves of the k best paths, ``paths (batch, k, n, m)``, and their ``scores (batch, k)``.

    The other arrays are ``moves (batch, n, m, 3)``, ``transition (g, 3, 3)``, and ``lengths`` and ``target_lengths
    (batch,)``.
    """
    batch, rows, columns, _ = moves.shape
    search = make_search(scores.shape[1], rows + columns)
    for b in range(start, batch, step):
        n, m = lengths[b], target_lengths[b]
        if n == 0 or m == 0:
            scores[b, 0] = 0.0 if n == m else -np.inf
            continue
        values, pairs = np.empty((n, m, 3)), transition[b * transition.shape[0] // batch]
        _fill(moves[b], pairs, values)
        _list(values, pairs, search, paths[b], scores[b])


@inner
def _list(values: Array, transition: Array, search: Search, paths: Array, scores: Array) -> None:
    """Write the k best paths, best first, to ``paths (k, n, m)`` and ``scores (k,)``.

    If there are fewer, -inf is written to ``scores`` after them, and nothing more.
    """
    start(search, values[-1, -1].max())
    for rank in range(scores.shape[0]):
        score, deviation = take(search, rank)
        scores[rank] = score
        if score == -np.inf:
            return
        _follow(values, transition, search, rank, deviation, score, paths[rank])


@inner
def _follow(
    values: Array, transition: Array, search: Search, rank: int, deviation: int, score: float, path: Array
) -> None:
    """Write the path of a rank to ``path (n, m)``, from the last cell to the first, which only a match enters.

    Choices up to ``deviation`` are fixed by the search; later ones are the best completion.
    """
    i, j, move, place, ways = values.shape[0] - 1, values.shape[1] - 1, 0, 0, np.empty(3)
    choices = search.choices[rank]
    while i >= 0 and j >= 0:
        if place <= deviation:
            move = choices[place]
        else:
            if place == 0:
                write(ways, values[i, j])
            else:
                _load_ways(values[i, j], transition, move, ways)
            move = choice_of_value(search, rank, place, deviation, score, ways)
        path[i, j] = move
        i, j = cell_before(i, j, move)
        place += 1
