"""Triton kernels that follow paths through grids ``(n, m)``, one program for each grid.

See `strukt.structures.events`; the moves are those of `strukt.structures.monotone_alignment.reference`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.structures.events.gpu_sequences import none_of

INSERT, DELETE = tl.constexpr(1), tl.constexpr(2)


@triton.jit
def move_into(moves, i, j, m):
    """Return the move into cell (i, j) of a grid with m columns; -1 if i or j is negative."""
    inside = (i >= 0) & (j >= 0)
    return tl.load(moves + i * m + j, inside, -1)


@triton.jit
def are_paths(moves, lengths, target_lengths, are_valid, n, m, B: tl.constexpr):
    """Write to ``are_valid`` True for each grid of moves that is a path, else False.

    The moves are followed back from the last cell. They must reach the first cell, whose move is a match, and no
    other cell may have a move. Moves are -1 (none) to 2. If both lengths are 0, the empty grid is a path.

    Arrays: ``moves (rows, n, m)``; ``lengths``, ``target_lengths`` and the result ``are_valid (rows,)``. ``B``
    cells are read at once.
    """
    row = tl.program_id(0).to(tl.int64)
    moves += row * n * m
    rows, columns = tl.load(lengths + row), tl.load(target_lengths + row)
    visited = tl.zeros([B], tl.int32)
    wrong = visited < 0
    for start in range(0, n * m, B):
        x = start + tl.arange(0, B)
        within = (x < n * m) & (x // m < rows) & (x % m < columns)
        move = tl.load(moves + x, within, -1)
        wrong = wrong | (move < -1) | (move > 2)
        visited += (move >= 0).to(tl.int32)
    i, j, steps = rows - 1, columns - 1, tl.minimum(rows, 1)
    move = move_into(moves, i, j, m)
    while ((i > 0) | (j > 0)) & (move >= 0) & (steps < n + m):
        i -= (move != INSERT).to(tl.int64)
        j -= (move != DELETE).to(tl.int64)
        move = move_into(moves, i, j, m)
        steps += 1
    begun = (i == 0) & (j == 0) & (move == 0) & (steps == tl.sum(visited, 0))
    empty = (rows == 0) | (columns == 0)
    tl.store(are_valid + row, tl.where(empty, rows == columns, begun & none_of(wrong)))


@triton.jit
def path_places(moves, lengths, target_lengths, entering, following, n, m, capacity, B: tl.constexpr):
    """Write the places of moves to ``entering``, and those of pairs of moves to ``following``; -1 for none.

    They are in the order from the last cell to the first.

    Arrays: ``moves (rows, n, m)``, ``lengths`` and ``target_lengths (rows,)``, and the results ``entering`` and
    ``following (rows, capacity)``; ``capacity`` is n + m - 1. ``B`` entries are initialised at once.
    """
    row = tl.program_id(0).to(tl.int64)
    moves += row * n * m
    entering += row * capacity
    following += row * capacity
    for start in range(0, capacity, B):
        x = start + tl.arange(0, B)
        tl.store(entering + x, tl.full([B], -1, tl.int64), x < capacity)
        tl.store(following + x, tl.full([B], -1, tl.int64), x < capacity)
    tl.debug_barrier()
    i, j = tl.load(lengths + row) - 1, tl.load(target_lengths + row) - 1
    move, step = tl.minimum(move_into(moves, i, j, m), 2), 0
    while (move >= 0) & (step < capacity):
        tl.store(entering + step, (i * m + j) * 3 + move)
        first = (i == 0) & (j == 0)
        i -= (move != INSERT).to(tl.int64)
        j -= (move != DELETE).to(tl.int64)
        before = tl.minimum(move_into(moves, i, j, m), 2)
        onward = ~first & (i >= 0) & (j >= 0)
        tl.store(following + step, 3 * tl.maximum(before, 0) + move, onward)
        move = tl.where(first, -1, before)
        step += 1
