"""Exact samples of paths through the grid, from the last cell to the first.

The table program takes 1.1 to 12 times as long, 1.7 in the median; most if a long path needs extended numbers.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_sample import accumulate, find_of_three
from strukt.kernels.extended import at_rank, settled
from strukt.kernels.jit import inner, kernel
from strukt.structures.monotone_alignment.cpu_forward import diagonal, load_transition, rows_on, total
from strukt.structures.monotone_alignment.cpu_needleman_wunsch import cell_before


@kernel
def sample(
    moves: Array, transition: Array, lengths: Array, target_lengths: Array, chart: Array, uniform: Array,
    paths: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Draw paths from the last move to the first; samples that leave a cell by the same move share its table.

    Items without a path are left as they are.

    Arrays: ``moves (batch, n, m, 3)``, ``transition (g, 3, 3)``, ``lengths`` and ``target_lengths (batch,)``,
    ``chart (batch, 6 n m)``, random numbers ``uniform (batch, count, n + m)``, and ``paths (batch, count, n, m)``.
    """
    numbers, equal = np.empty((2, 3, 3)), np.zeros((2, 3))
    equal[0] = 1.0
    batch = moves.shape[0]
    for b in range(start, batch, step):
        n, m = lengths[b], target_lengths[b]
        if n == 0 or m == 0 or total(chart[b], n, m)[1] == -np.inf:
            continue
        load_transition(transition[b * transition.shape[0] // batch], numbers)
        tables, made, last = np.empty((n, m, 3, 3)), np.zeros((n, m, 3), np.bool_), np.empty(3)
        _weigh(chart[b], n, m, n - 1, m - 1, equal, last)
        for q in range(uniform.shape[1]):
            i, j = n - 1, m - 1
            move = find_of_three(last, uniform[b, q, 0])
            paths[b, q, i, j] = move
            while i >= 0 and j >= 0 and i + j > 0:  # outside the grid only if scores are NaN
                draw, onward = uniform[b, q, i + j], move
                i, j = cell_before(i, j, onward)
                if not made[i, j, onward]:
                    made[i, j, onward] = True
                    _weigh(chart[b], n, m, i, j, numbers[:, :, onward], tables[i, j, onward])
                move = find_of_three(tables[i, j, onward], draw)
                paths[b, q, i, j] = move


@inner
def _weigh(chart: Array, n: int, m: int, i: int, j: int, weight: Array, table: Array) -> None:
    """Write the cumulative probabilities ``table (3,)`` of the moves into a cell.

    They are proportional to the moves' totals times ``weight (2, 3)``: mantissas, then ranks.
    """
    row = diagonal(chart, n, m, i + j)
    k = i - rows_on(n, m, i + j)[0]
    ranks = np.empty(3)
    for a in range(3):
        table[a], ranks[a] = settled(row[a, k] * weight[0, a], row[3 + a, k] + weight[1, a])
    top = ranks.max()
    for a in range(3):
        table[a] = at_rank(table[a], ranks[a], top)
    accumulate(table)
