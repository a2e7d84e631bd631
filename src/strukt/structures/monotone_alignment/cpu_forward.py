"""The memory layout of the diagonals of a grid, and the forward pass over them.

For a training step, the table program takes 1.9 times as long (16 x 50 x 60 cells), and 5 times if the lengths of
a batch are new, because each pair of lengths needs a table of its own.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.extended import at_rank, from_log, settled, to_log
from strukt.kernels.jit import inner, kernel, leading, scratch
from strukt.structures.monotone_alignment.reference import DELETE, INSERT, MATCH


@kernel
def rows_on(n: int, m: int, d: int) -> tuple[int, int]:
    """Return the first row of diagonal d (cells with i + j = d) in an n by m grid, and its last row plus 1."""
    return max(0, d - m + 1), min(n, d + 1)


@inner
def rows_entered(n: int, m: int, d: int, move: int) -> tuple[int, int]:
    """Return the range of rows, first and last plus 1, whose cells on diagonal d a move can enter."""
    first, end = rows_on(n, m, d)
    down, right = int(move != INSERT), int(move != DELETE)
    return max(first, down), min(end, d - right + 1)


@kernel
def offset(n: int, m: int, d: int) -> int:
    """Return the number of cells on the diagonals 0 to d - 1."""
    short, beyond = min(d, n), max(0, d - n)
    before = short * (short + 1) // 2 + beyond * n
    cut = max(0, d - m)
    return before - cut * (cut + 1) // 2


@inner
def diagonal(chart: Array, n: int, m: int, d: int) -> Array:
    """Return the part of a chart for one diagonal, ``(6, cells)``: three rows of mantissas, three of ranks."""
    first, end = rows_on(n, m, d)
    start = 6 * offset(n, m, d)
    return chart[start : start + 6 * (end - first)].reshape(6, end - first)


@inner
def load_transition(transition: Array, numbers: Array) -> None:
    """Write the weights of one item's transitions ``(3, 3)`` to ``numbers (2, 3, 3)``: mantissas, then ranks."""
    for a in range(3):
        for b in range(3):
            numbers[0, a, b], numbers[1, a, b] = from_log(np.float64(transition[a, b]))


@inner
def weigh(moves: Array, n: int, m: int, d: int, weight: Array) -> None:
    """Write the weights of the moves into the cells of diagonal d, the exponentials of scores, ``(6, cells)``.

    These are three rows of mantissas, one for each move, then three of ranks.
    """
    first, end = rows_on(n, m, d)
    for i in range(first, end):
        for move in range(3):
            weight[move, i - first] = moves[i, d - i, move]
    for move in range(3):
        for k in range(end - first):
            weight[move, k], weight[3 + move, k] = from_log(weight[move, k])


@inner
def _enter(
    source: Array, behind: int, numbers: Array, move: int, weight: Array, out: Array, left: int, right: int
) -> None:
    """Write the totals of the paths that enter cells ``left`` to ``right - 1`` of a diagonal by a move.

    The move leads to cell k from cell k + ``behind`` of ``source (6, cells)``, the diagonal before or the one
    before that. ``weight`` and ``out (6, cells)`` are those of the entered diagonal.
    """
    t0, t1, t2 = numbers[0, 0, move], numbers[0, 1, move], numbers[0, 2, move]
    s0, s1, s2 = numbers[1, 0, move], numbers[1, 1, move], numbers[1, 2, move]
    for k in range(left, right):
        j = k + behind
        r0, r1, r2 = source[3, j] + s0, source[4, j] + s1, source[5, j] + s2
        top = max(max(r0, r1), r2)
        total = (
            at_rank(source[0, j] * t0, r0, top)
            + at_rank(source[1, j] * t1, r1, top)
            + at_rank(source[2, j] * t2, r2, top)
        )
        out[move, k], out[3 + move, k] = settled(total * weight[move, k], top + weight[3 + move, k])


@inner
def total(chart: Array, n: int, m: int) -> tuple[float, float]:
    """Return the mantissa and rank of the total over the moves into the last cell."""
    last = diagonal(chart, n, m, n + m - 2)
    top = max(max(last[3, 0], last[4, 0]), last[5, 0])
    mantissa = 0.0
    for move in range(3):
        mantissa += at_rank(last[move, 0], last[3 + move, 0], top)
    return mantissa, top


@inner
def _fill(moves: Array, n: int, m: int, numbers: Array, chart: Array) -> None:
    """Write the chart of an item, first diagonal first."""
    workspace = scratch(6, min(n, m))
    for d in range(n + m - 1):
        first, end = rows_on(n, m, d)
        out, weight = diagonal(chart, n, m, d), leading(workspace, (6, end - first))
        weigh(moves, n, m, d, weight)
        out[:3] = 0.0
        out[3:] = -np.inf
        if d == 0:
            out[MATCH, 0], out[3 + MATCH, 0] = weight[MATCH, 0], weight[3 + MATCH, 0]
            continue
        for move in range(3):
            low, high = rows_entered(n, m, d, move)
            before = d - 2 if move == MATCH else d - 1
            if low < high:
                behind = first - int(move != INSERT) - rows_on(n, m, before)[0]
                source = diagonal(chart, n, m, before)
                _enter(source, behind, numbers, move, weight, out, low - first, high - first)


@kernel
def forward(
    moves: Array, transition: Array, lengths: Array, target_lengths: Array, chart: Array, log_partition: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write log-partitions and charts.

    Arrays: ``moves (batch, n, m, 3)``, ``transition (g, 3, 3)``, ``lengths`` and ``target_lengths (batch,)``,
    ``chart (batch, 6 n m)`` and ``log_partition (batch,)``.
    """
    numbers = np.empty((2, 3, 3))
    batch = moves.shape[0]
    for b in range(start, batch, step):
        n, m = lengths[b], target_lengths[b]
        if n == 0 or m == 0:
            log_partition[b] = 0.0 if n == m else -np.inf
            continue
        load_transition(transition[b * transition.shape[0] // batch], numbers)
        _fill(moves[b], n, m, numbers, chart[b])
        log_partition[b] = to_log(*total(chart[b], n, m))
