"""Marginals of non-projective trees to small relative error, and their derivative along a direction of scores.

The probability of the arc from h to m is proportional to w_mh P_m(h), as `max_marginals` explains. Nothing is
subtracted, so that a probability of 1e-300 has as many correct digits as one of 1/2, while in the outside pass of
`cpu_matrix_tree` only the absolute error is small. The derivative is forward mode through the same elimination.

Plain floats suffice if no underflow matters. For a single root they need no orders: as long as every word has
heads other than the root, pivots exclude the root, and all P_m are of order one. Extended numbers can represent an
epsilon: the weights of the root's arcs get a rank that no scores reach (`ORDER`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.extended import at_rank, settled
from strukt.kernels.jit import inner
from strukt.structures.non_projective_tree.cpu_numbers import add_row, as_double, at, beside, divide_row
from strukt.structures.non_projective_tree.halves import (
    COUNT,
    FIRST,
    KEPT,
    PARENT,
    copy_down,
    matrix,
    plan,
    word_at,
)

ORDER = float(1 << 50)
"""The rank subtracted for an epsilon: scores up to 1e15 have ranks below 3e12."""

LEAST_TOTAL, MOST_TOTAL = 1e-150, 1e150
"""The bounds of the sum over the heads of a word in plain floats; sums of mantissas are always within them."""

SMALLEST = 5e-324
"""The result for probabilities that are smaller but not 0: the least positive double."""


@inner
def marginals(
    weights: Array, ranks: Array | None, costs: Array | None, single_root: bool, mass: Array, moved: Array | None
) -> bool:
    """Write the marginals of an item, and their derivative in t, at 0, if weights are multiplied by exp(t costs).

    Time O(n^3).

    Args:
        weights: ``(n, n + 1)``, n >= 1, mantissas if there are ranks; there must be a tree.
        ranks: ``(n, n + 1)``; None for plain floats.
        costs: ``(n, n + 1)``, finite; None for no derivative.
        single_root: Whether exactly one word depends on the root.
        mass: ``(n, n + 1)``, the marginals, written.
        moved: ``(n, n + 1)``, their derivative, written; None if there are no costs.

    Returns:
        False if plain floats do not suffice, else True.
    """
    n = weights.shape[0]
    blocks, size = plan(n, 1)
    value, rank, change = np.empty(size), _flat(ranks, size), _flat(costs, size)
    matrices = matrix(value, blocks[0], 1), matrix(rank, blocks[0], 1), matrix(change, blocks[0], 1)
    _load(weights, ranks, costs, single_root, *matrices)
    counted = 1 if single_root and ranks is None else 0
    for b in range(1, blocks.shape[0]):
        block, parent = blocks[b], blocks[blocks[b, PARENT]]
        copy_down(matrix(value, parent, 1), parent, block, 1, matrix(value, block, 1))
        copy_down(matrix(rank, parent, 1), parent, block, 1, matrix(rank, block, 1))
        copy_down(matrix(change, parent, 1), parent, block, 1, matrix(change, block, 1))
        left = matrix(value, block, 1), matrix(rank, block, 1), matrix(change, block, 1)
        if not _eliminate(*left, block[KEPT], counted):
            return False
    reached = np.zeros((n, n)), beside(ranks, n, n, -np.inf), beside(costs, n, n, 0.0)
    for b in range(blocks.shape[0] - 1, 0, -1):
        block = blocks[b]
        left = matrix(value, block, 1), matrix(rank, block, 1), matrix(change, block, 1)
        _substitute(*left, block, *reached)
    possible = True
    for m in range(n):
        possible &= _through(*matrices, costs, *reached, m, mass[m], moved)
    return possible


@inner
def _flat(marker: Array | None, size: int) -> Any:
    """Allocate ``size`` numbers, for the matrices of all blocks; return None if ``marker`` is None."""
    if marker is None:
        return None
    return np.empty(size)


@inner
def _load(
    weights: Array, ranks: Array | None, costs: Array | None, single_root: bool, value: Array,
    rank: Array | None, change: Array | None,
) -> None:  # fmt: skip
    """Copy weights to ``value``, ``rank`` and ``change``; lower the ranks of a single root's arcs by `ORDER`."""
    for m in range(weights.shape[0]):
        for h in range(weights.shape[1]):
            value[m, h] = weights[m, h]
            if ranks is not None and rank is not None:
                rank[m, h] = ranks[m, h] - (ORDER if single_root and h == 0 else 0.0)
            if costs is not None and change is not None:
                change[m, h] = costs[m, h] if ranks is not None else costs[m, h] * weights[m, h]


@inner
def _eliminate(values: Array, ranks: Array | None, changes: Array | None, kept: int, counted: int) -> bool:
    """Eliminate, in place, all words of a block but the first ``kept``; return False if a pivot is too small.

    Pivots are sums from column ``counted`` on: 1 leaves out the root.
    """
    for k in range(values.shape[0] - 1, kept - 1, -1):
        if not divide_row(values, ranks, changes, k, counted, k + 1, k + 1):
            return False
        for i in range(k):
            by = values[i, k + 1], at(ranks, i, k + 1), at(changes, i, k + 1)
            add_row(values, ranks, changes, i, k, 0, k + 1, *by)
    return True


@inner
def _substitute(
    shares: Array, share_ranks: Array | None, share_changes: Array | None, block: Array, values: Array,
    ranks: Array | None, changes: Array | None,
) -> None:  # fmt: skip
    """Write P_m(k) to ``values[k, m]``, for the words k that a block eliminated and the words m that it keeps.

    ``shares`` is the block's matrix after the elimination; ``values`` is ``(n, n)``.
    """
    first, stop = block[FIRST], block[FIRST] + block[KEPT]
    for i in range(block[KEPT], block[KEPT] + block[COUNT]):
        word = word_at(block, i)
        values[word, first:stop] = shares[i, 0]
        if ranks is not None and share_ranks is not None:
            ranks[word, first:stop] = share_ranks[i, 0]
        if changes is not None and share_changes is not None:
            changes[word, first:stop] = share_changes[i, 0]
        for j in range(i):
            by = shares[i, 1 + j], at(share_ranks, i, 1 + j), at(share_changes, i, 1 + j)
            add_row(values, ranks, changes, word, word_at(block, j), first, stop, *by)


@inner
def _through(
    weights: Array, weight_ranks: Array | None, weight_changes: Array | None, costs: Array | None, values: Array,
    ranks: Array | None, changes: Array | None, m: int, mass: Array, moved: Array | None,
) -> bool:  # fmt: skip
    """Write the marginals of word m's heads, ``mass (n + 1,)``, and their derivatives, row m of ``moved``.

    Return False if plain floats do not suffice. ``weights (n, n + 1)`` are the weights w, ``values (n, n)`` holds
    P_m(h + 1) in ``[h, m]``.
    """
    n = weights.shape[0]
    rank, top = np.zeros(n + 1), 0.0
    mass[0] = weights[m, 0]
    for h in range(n):
        mass[h + 1] = weights[m, h + 1] * values[h, m]
    if ranks is not None and weight_ranks is not None:
        rank[0] = weight_ranks[m, 0]
        for h in range(n):
            mass[h + 1], rank[h + 1] = settled(mass[h + 1], weight_ranks[m, h + 1] + ranks[h, m])
        top = rank.max()
    total = 0.0
    for h in range(n + 1):
        total += at_rank(mass[h], rank[h], top)
    if not LEAST_TOTAL < total < MOST_TOTAL:
        return False
    for h in range(n + 1):
        possible = mass[h] > 0.0 and rank[h] > top - 0.5 * ORDER
        mass[h] = max(as_double(mass[h] / total, rank[h] - top), SMALLEST) if possible else 0.0
    if costs is not None and changes is not None and moved is not None:
        _move(costs, values, ranks, changes, m, mass, moved[m])
    return True


@inner
def _move(
    costs: Array, values: Array, ranks: Array | None, changes: Array, m: int, mass: Array, moved: Array
) -> None:
    """Write ``moved (n + 1,)``, the derivatives of the marginals of word m's heads; see `marginals`."""
    heaviest, mean = int(np.argmax(mass)), 0.0
    for h in range(mass.shape[0]):
        moved[h] = costs[m, h]
        if h > 0 and ranks is not None:
            moved[h] += changes[h - 1, m]
        elif h > 0 and values[h - 1, m] > 0.0:
            moved[h] += changes[h - 1, m] / values[h - 1, m]
    origin = moved[heaviest]
    for h in range(mass.shape[0]):
        moved[h] -= origin
        mean += mass[h] * moved[h]
    for h in range(mass.shape[0]):
        moved[h] = mass[h] * (moved[h] - mean) if mass[h] > 0.0 else 0.0
