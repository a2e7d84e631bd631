"""The backward pass of monotone alignments, with expected moves and pairs of moves."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.extended import at_rank, settled, share
from strukt.kernels.jit import inner, kernel, leading, scratch
from strukt.structures.monotone_alignment.cpu_forward import (
    diagonal,
    load_transition,
    rows_entered,
    rows_on,
    total,
    weigh,
)
from strukt.structures.monotone_alignment.reference import INSERT, MATCH


@inner
def _add_onward(
    ahead: Array, entered: Array, behind: int, left: int, right: int, numbers: Array, move: int, inside: Array,
    whole: float, rank: float, weight: float, pairs: Array,
) -> None:  # fmt: skip
    """Add the totals of path suffixes that go on by one move, and the probabilities of pairs of moves.

    Arrays of 6 rows hold three mantissas and three ranks, for each of the moves into a cell.

    Args:
        ahead: ``(6, cells)``, the totals over everything that can follow each move into each cell; added to.
        entered: ``(6, cells)`` of the diagonal that the move leads to: the same with the weights of its moves.
        behind: The move leads from cell k to cell k + ``behind`` of ``entered``.
        left: The first cell that the move can leave.
        right: One more than the last.
        numbers: The weights of transitions, ``(2, 3, 3)``: mantissas, then ranks.
        move: The index of the move, such as `MATCH`.
        inside: ``(6, cells)``, the entries of the chart.
        whole: The mantissa of the total over all paths.
        rank: The rank of the total.
        weight: The weight of the item.
        pairs: ``(3, 3)``, the expected number of times that each move follows each other; added to.
    """
    for a in range(3):
        mantissa, height, expected = numbers[0, a, move], numbers[1, a, move], 0.0
        for k in range(left, right):
            j = k + behind
            term, term_rank = settled(entered[move, j] * mantissa, entered[3 + move, j] + height)
            expected += share(inside[a, k] * term, inside[3 + a, k] + term_rank, whole, rank)
            top = max(ahead[3 + a, k], term_rank)
            ahead[a, k] = at_rank(ahead[a, k], ahead[3 + a, k], top) + at_rank(term, term_rank, top)
            ahead[3 + a, k] = top
        pairs[a, move] += weight * expected


@inner
def _write_shares(
    inside: Array, ahead: Array, whole: float, rank: float, weight: float, d: int, first: int, out: Array
) -> None:
    """Write the probabilities of the moves into the cells of diagonal d, times a weight, to ``out (n, m, 3)``.

    ``first`` is the first row of the diagonal; ``inside`` and ``ahead (6, cells)`` are as in `_add_onward`.
    """
    cells = inside.shape[1]
    shares = scratch(3, cells)
    for move in range(3):
        for k in range(cells):
            shares[move, k] = weight * share(
                inside[move, k] * ahead[move, k], inside[3 + move, k] + ahead[3 + move, k], whole, rank
            )
    for k in range(cells):
        for move in range(3):
            out[first + k, d - first - k, move] = shares[move, k]


@inner
def _backward_item(
    moves: Array, n: int, m: int, numbers: Array, chart: Array, factor: float, marginals: Array,
    pairs: Array,
) -> None:  # fmt: skip
    """Write the marginals of an item's moves, times ``factor``; add its expected pairs of moves to ``pairs``.

    The last diagonal comes first. Of the totals of path suffixes, only those of the current diagonal and of the
    two after it are kept.
    """
    whole, rank = total(chart, n, m)
    if rank == -np.inf:
        return
    width = min(n, m)
    ahead_workspace, weight_workspace, workspaces = scratch(6, width), scratch(6, width), scratch(3, 6 * width)
    for d in range(n + m - 2, -1, -1):
        first, end = rows_on(n, m, d)
        shape = (6, end - first)
        ahead, weight = leading(ahead_workspace, shape), leading(weight_workspace, shape)
        inside, entered = diagonal(chart, n, m, d), leading(workspaces[d % 3], shape)
        ahead[:3] = 1.0
        ahead[3:] = 0.0 if d == n + m - 2 else -np.inf
        for move in range(3):
            following = d + 2 if move == MATCH else d + 1
            if following <= n + m - 2:
                low, high = rows_entered(n, m, following, move)
                down, (top, bottom) = int(move != INSERT), rows_on(n, m, following)
                _add_onward(
                    ahead, leading(workspaces[following % 3], (6, bottom - top)), first + down - top,
                    low - down - first, high - down - first, numbers, move, inside, whole, rank, factor, pairs,
                )  # fmt: skip
        _write_shares(inside, ahead, whole, rank, factor, d, first, marginals)
        weigh(moves, n, m, d, weight)
        _weigh_ahead(ahead, weight, entered)


@inner
def _weigh_ahead(ahead: Array, weight: Array, entered: Array) -> None:
    """Write, for each move into each cell, its weight times the total of the path suffixes after it."""
    for move in range(3):
        for k in range(ahead.shape[1]):
            entered[move, k], entered[3 + move, k] = settled(
                ahead[move, k] * weight[move, k], ahead[3 + move, k] + weight[3 + move, k]
            )


@kernel
def backward(
    moves: Array, transition: Array, lengths: Array, target_lengths: Array, weights: Array, chart: Array,
    marginals: Array, pairs: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the marginals of moves and add the expected pairs of moves of each item, times its weight.

    Arrays: ``moves (batch, n, m, 3)``, ``transition (g, 3, 3)``, ``lengths``, ``target_lengths`` and ``weights
    (batch,)``, ``chart (batch, 6 n m)``, ``marginals (batch, n, m, 3)`` and ``pairs (batch, 3, 3)``.
    """
    numbers = np.empty((2, 3, 3))
    batch = moves.shape[0]
    for b in range(start, batch, step):
        n, m = lengths[b], target_lengths[b]
        if n > 0 and m > 0:
            load_transition(transition[b * transition.shape[0] // batch], numbers)
            _backward_item(moves[b], n, m, numbers, chart[b], weights[b], marginals[b], pairs[b])
