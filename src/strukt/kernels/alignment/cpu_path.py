"""One path through the grid: the best, by a forward pass over scores, or samples from a chart."""

from __future__ import annotations

import numpy as np

from strukt.kernels.alignment.cpu_forward import (
    DELETE,
    INSERT,
    Array,
    diagonal,
    load_transition,
    rows_on,
    total,
)
from strukt.kernels.extended import at_rank, drawn, settled
from strukt.kernels.jit import kernel


@kernel
def _best_before(values: Array, row: int, j: int, transition: Array, move: int) -> tuple[float, int]:
    """The best score before a move from a cell, and the move that it follows."""
    top, chosen = -np.inf, 0
    for a in range(3):
        value = values[row, j, a] + transition[a, move]
        if value > top:
            top, chosen = value, a
    return top, chosen


@kernel
def _fill(moves: Array, n: int, m: int, transition: Array, values: Array, before: Array) -> None:
    """Best scores ``(2, m, 3)`` of each move into the cells of the last two rows, and what each followed."""
    for i in range(n):
        above, row = (i + 1) % 2, i % 2
        for j in range(m):
            for move in range(3):
                down, right = int(move != INSERT), int(move != DELETE)
                value = 0.0 if i + j + move == 0 else -np.inf
                if i >= down and j >= right:
                    source = above if down else row
                    value, before[i, j, move] = _best_before(values, source, j - right, transition, move)
                values[row, j, move] = value + moves[i, j, move]


@kernel
def best(
    moves: Array, transition: Array, lengths: Array, target_lengths: Array, path: Array, score: Array, start: int,
    step: int,
) -> None:  # fmt: skip
    """The moves of the best path of each item and its score."""
    batch = moves.shape[0]
    for b in range(start, batch, step):
        n, m = lengths[b], target_lengths[b]
        if n == 0 or m == 0:
            score[b] = 0.0 if n == m else -np.inf
            continue
        values, before = np.empty((2, m, 3)), np.empty((n, m, 3), np.int8)
        _fill(moves[b], n, m, transition[b * transition.shape[0] // batch], values, before)
        last = values[(n - 1) % 2, m - 1]
        i, j, move = n - 1, m - 1, np.argmax(last)
        score[b] = last[move]
        if score[b] == -np.inf:
            continue
        path[b, i, j] = move
        while i + j > 0:
            following = before[i, j, move]
            i -= int(move != INSERT)
            j -= int(move != DELETE)
            move = following
            path[b, i, j] = move


@kernel
def _drawn(chart: Array, n: int, m: int, i: int, j: int, weight: Array, uniform: float) -> int:
    """A move into a cell, drawn in proportion to its total times a weight; ``weight`` is ``(2, 3)``."""
    row = diagonal(chart, n, m, i + j)
    k = i - rows_on(n, m, i + j)[0]
    parts, ranks = np.empty(3), np.empty(3)
    for a in range(3):
        parts[a], ranks[a] = settled(row[a, k] * weight[0, a], row[3 + a, k] + weight[1, a])
    top = ranks.max()
    for a in range(3):
        parts[a] = at_rank(parts[a], ranks[a], top)
    return drawn(parts, uniform)


@kernel
def sample(
    moves: Array, transition: Array, lengths: Array, target_lengths: Array, chart: Array, uniform: Array,
    paths: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Paths from the last cell to the first, each move drawn from those before it."""
    numbers, equal = np.empty((2, 3, 3)), np.zeros((2, 3))
    equal[0] = 1.0
    batch = moves.shape[0]
    for b in range(start, batch, step):
        n, m = lengths[b], target_lengths[b]
        if n == 0 or m == 0 or total(chart[b], n, m)[1] == -np.inf:
            continue
        load_transition(transition[b * transition.shape[0] // batch], numbers)
        for q in range(uniform.shape[1]):
            i, j = n - 1, m - 1
            move = _drawn(chart[b], n, m, i, j, equal, uniform[b, q, 0])
            paths[b, q, i, j] = move
            while i + j > 0:
                draw = uniform[b, q, i + j]
                down, right = int(move != INSERT), int(move != DELETE)
                i, j = i - down, j - right
                move = _drawn(chart[b], n, m, i, j, numbers[:, :, move], draw)
                paths[b, q, i, j] = move
