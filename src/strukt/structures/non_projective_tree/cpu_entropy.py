"""Entropies and cross-entropies of non-projective trees without cancellation, and their gradients.

The difference log Z - <mu, s> cancels if scores are large or one tree has almost all probability. In the scores of
q, let c_mh be the score of the head of word m in the best tree, minus that of head h, and C the sum of these costs
over a tree, which is non-negative. Then

    -E[log q] = log Z' + E[C] = log Z' + sum of mu_mh c_mh over arcs that are not in the best tree of q,

with Z' the sum of exp(-C), at least 1. If words are eliminated as leaves of the remaining best tree, each pivot
contains the weight 1 of the word's head there, and log Z' = sum of log(1 + excess), where the excess is a sum of
positive terms. The marginals come from `cpu_marginals`. A cost may be negative, but cancellation stays within the
rounding error: the relative error is that of marginals, about 1e-16 times the number of words, times the largest
cost of an arc that is used.

With a single root, no pivot but the last, that of the root's word, contains the root: the sum is the term of first
order in the weights of the root's arcs. These may all be scaled together, and so may those of a word's heads.

The gradient with respect to the score of an arc is its covariance with C, the derivative of its marginal along the
costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.extended import LOG_UP, at_rank, from_log, settled
from strukt.kernels.jit import inner, kernel
from strukt.structures.non_projective_tree.chu_liu_edmonds import best_tree, make_nodes
from strukt.structures.non_projective_tree.cpu_marginals import marginals
from strukt.structures.non_projective_tree.cpu_numbers import add_row, as_double, at, beside, total_of

MOST_UNDERFLOWED = 460.0
"""The log of the largest ratio of a bound to the total for which plain numbers suffice: numbers that underflow are
below 1e-308 of the bound, and so below 1e-108 of the total."""

LEAST_SURPRISE = 1e-80
"""The result in plain numbers below which it is recomputed in extended ones."""


@kernel
def surprises(
    arcs: Array, lengths: Array, single_root: bool, others: Array, same: bool, result: Array, start: int, step: int
) -> None:
    """Write the cross-entropies -E[log q], ``result (batch,)``, which must be 0 before.

    The expectation is under the scores ``arcs``; q has the scores ``others``. ``same`` says that these are equal.

    The other arrays are ``arcs`` and ``others (batch, n, n + 1)``, and ``lengths (batch,)``.
    """
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n > 0:
            mine, other = arcs[b, :n, : n + 1], others[b, :n, : n + 1]
            mass, costs = np.zeros((n, n + 1)), np.zeros((n, n + 1))
            result[b] = _surprise(mine, other, same, single_root, costs, mass, None)


@kernel
def gradients(
    arcs: Array, lengths: Array, single_root: bool, others: Array, same: bool, factors: Array, grads: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write ``grads``, the gradients of the results of `surprises` with respect to ``arcs``, times factors.

    Gradients of infinite results, and in the padding, are not written.

    Arrays: ``arcs``, ``others`` and ``grads (batch, n, n + 1)``, and ``lengths`` and ``factors (batch,)``.
    """
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n > 0:
            mine, other = arcs[b, :n, : n + 1], others[b, :n, : n + 1]
            moved, mass, costs = np.zeros((n, n + 1)), np.zeros((n, n + 1)), np.zeros((n, n + 1))
            if _surprise(mine, other, same, single_root, costs, mass, moved) < np.inf:
                for m in range(n):
                    for h in range(n + 1):
                        grads[b, m, h] = factors[b] * moved[m, h]


@inner
def _surprise(
    arcs: Array, others: Array, same: bool, single_root: bool, costs: Array, mass: Array, moved: Array | None
) -> float:
    """Return -E[log q] of an item, 0 if it has no trees, inf if q has none.

    Write the ``costs`` of arcs under q, the marginals ``mass``, and, unless ``moved`` is None, the derivative of
    the marginals along the costs, ``moved``. All arrays are ``(n, n + 1)``.
    """
    n = arcs.shape[0]
    heads, other_heads = np.empty(n, np.int64), np.empty(n, np.int64)
    logs, other_logs = np.empty((n, n + 1)), np.empty((n, n + 1))
    if not _relative(arcs, single_root, heads, logs):
        return 0.0
    if same:
        other_heads, other_logs = heads, logs
    elif not _relative(others, single_root, other_heads, other_logs):
        return np.inf
    _take_costs(others, other_heads, costs)
    result = _in_ring(logs, heads, same, other_logs, other_heads, single_root, None, costs, mass, moved)
    if not result >= LEAST_SURPRISE:
        ring = np.empty((n, n + 1))
        result = _in_ring(logs, heads, same, other_logs, other_heads, single_root, ring, costs, mass, moved)
    return result


@inner
def _relative(arcs: Array, single_root: bool, heads: Array, logs: Array) -> bool:
    """Write the best tree, ``heads (n,)``, and log-weights relative to its arcs, ``logs (n, n + 1)``.

    Return False if there is no tree. With a single root, the heads of the root's word are relative to the best of
    them other than the root, and the root's arcs to that of the best tree.
    """
    n = arcs.shape[0]
    best, _ = best_tree(arcs, np.ones((n, n + 1), np.bool_), single_root, make_nodes(n), heads)
    if best == -np.inf:
        return False
    shift = 0.0
    for m in range(n):
        base = float(arcs[m, heads[m]])
        if single_root and heads[m] == 0:
            top = -np.inf
            for h in range(1, n + 1):
                if h != m + 1:
                    top = max(top, float(arcs[m, h]))
            shift = base - top if top > -np.inf else 0.0
            base = top if top > -np.inf else base
        for h in range(n + 1):
            logs[m, h] = arcs[m, h] - base if h != m + 1 else -np.inf
    for m in range(n):
        logs[m, 0] -= shift
    return True


@inner
def _take_costs(arcs: Array, heads: Array, costs: Array) -> None:
    """Write ``costs (n, n + 1)``: the score of each word's head in ``heads (n,)`` minus that of each other head.

    The cost of a forbidden arc is inf.
    """
    for m in range(arcs.shape[0]):
        for h in range(arcs.shape[1]):
            costs[m, h] = np.float64(arcs[m, heads[m]]) - arcs[m, h]


@inner
def _in_ring(
    logs: Array, heads: Array, same: bool, other_logs: Array, other_heads: Array, single_root: bool,
    ring: Array | None, costs: Array, mass: Array, moved: Array | None,
) -> float:  # fmt: skip
    """Return -E[log q]; write the marginals ``mass``, and unless it is None, their derivative ``moved``.

    If ``ring`` is None, plain numbers are used, and the result is NaN if they do not suffice. Any array stands for
    extended numbers; it is not read. The other arguments are results of `_relative` and `_take_costs`.
    """
    n = logs.shape[0]
    weights, ranks = np.empty((n, n + 1)), beside(ring, n, n + 1, -np.inf)
    result = _log_total(other_logs, other_heads, single_root, weights, ranks)
    if not same and not _log_total(logs, heads, single_root, weights, ranks) >= 0.0:
        return np.nan
    directions = _directions(moved, costs, logs)
    if not result >= 0.0 or not marginals(weights, ranks, directions, single_root, mass, moved):
        return np.nan
    for m in range(n):
        for h in range(n + 1):
            if mass[m, h] > 0.0:
                result += mass[m, h] * costs[m, h]
            elif costs[m, h] == np.inf and logs[m, h] > -np.inf and ranks is None and h != m + 1:
                return np.nan  # the mass may have underflowed; if it is not 0, the result is inf
    return max(result, 0.0)


@inner
def _directions(moved: Array | None, costs: Array, logs: Array) -> Any:
    """Return the finite costs of arcs that are not forbidden, 0 for other arcs; None if ``moved`` is None."""
    if moved is None:
        return None
    directions = np.zeros(costs.shape)
    for m in range(costs.shape[0]):
        for h in range(costs.shape[1]):
            if costs[m, h] < np.inf and logs[m, h] > -np.inf:
                directions[m, h] = costs[m, h]
    return directions


@inner
def _log_total(logs: Array, heads: Array, single_root: bool, weights: Array, ranks: Array | None) -> float:
    """Write weights from their logs; return log Z' (see the module's docstring).

    The weights' ``ranks`` are written, too; None for plain numbers. ``heads (n,)`` is the best tree; other
    arrays are ``(n, n + 1)``. In plain numbers, without ranks, the result is NaN if underflow may matter.
    """
    n = logs.shape[0]
    budget = _exponentials(logs, single_root, weights, ranks)
    if ranks is None and not budget < 2.0 * MOST_UNDERFLOWED:
        return np.nan
    order = _heads_first(heads)
    values, value_ranks = np.empty((n, n + 1)), beside(ranks, n, n + 1, -np.inf)
    for i in range(n):
        for j in range(-1, n):
            head = order[j] + 1 if j >= 0 else 0
            if head != heads[order[i]]:
                values[i, j + 1] = weights[order[i], head]
                if ranks is not None:
                    value_ranks[i, j + 1] = ranks[order[i], head]
            else:
                values[i, j + 1] = 0.0 if ranks is None else 1.0  # a mantissa, of rank -inf
    result = 0.0
    for k in range(n - 1, -1, -1):
        excess, rank = total_of(values, value_ranks, k, 1 if single_root and k > 0 else 0, k + 1)
        pivot, pivot_rank = _one_more(excess, rank)
        result += _log_of_one_more(excess, rank)
        for j in range(k + 1):
            if heads[order[k]] == (order[j - 1] + 1 if j > 0 else 0):
                whole, whole_rank = _one_more(values[k, j], at(value_ranks, k, j))
            else:
                whole, whole_rank = values[k, j], at(value_ranks, k, j)
            values[k, j] = whole / pivot
            if ranks is not None:
                values[k, j], value_ranks[k, j] = settled(values[k, j], whole_rank - pivot_rank)
        for i in range(k):
            add_row(values, value_ranks, None, i, k, 0, k + 1, values[i, k + 1], at(value_ranks, i, k + 1), 0.0)
    return result if ranks is not None or budget - result < MOST_UNDERFLOWED else np.nan


@inner
def _exponentials(logs: Array, single_root: bool, weights: Array, ranks: Array | None) -> float:
    """Write weights from their logs; return the log of an upper bound of the sum over trees.

    The bound is right only in plain numbers, where ``ranks`` is None.
    """
    n = logs.shape[0]
    bound, most = 0.0, 1.0
    for m in range(n):
        total = 0.0
        for h in range(n + 1):
            if ranks is not None:
                weights[m, h], ranks[m, h] = from_log(logs[m, h])
            else:
                weights[m, h] = exp(logs[m, h])
                total += weights[m, h] if h > 0 or not single_root else 0.0
        most = max(most, weights[m, 0])
        bound += np.log(total) if total > 0.0 else 0.0
    return bound + np.log(most) if single_root else bound


@inner
def _heads_first(heads: Array) -> Array:
    """Return the words of the tree ``heads (n,)``, counted from 0, in an order in which each follows its head."""
    n = heads.shape[0]
    order, placed, made = np.empty(n, np.int64), np.zeros(n + 1, np.bool_), 0
    placed[0] = True
    while made < n:
        for m in range(n):
            if not placed[m + 1] and placed[heads[m]]:
                order[made] = m
                placed[m + 1] = True
                made += 1
    return order


@inner
def _one_more(mantissa: float, rank: float) -> tuple[float, float]:
    """Return the mantissa and the rank of a number plus one; a plain number has rank 0. They are not settled."""
    top = max(rank, 0.0)
    return at_rank(mantissa, rank, top) + at_rank(1.0, 0.0, top), top


@inner
def _log_of_one_more(mantissa: float, rank: float) -> float:
    """Return the log of one plus a number, given its mantissa and rank; a plain number has rank 0."""
    if rank > 0.0:
        return np.log(mantissa) + rank * LOG_UP  # type: ignore[no-any-return]
    return np.log1p(as_double(mantissa, rank))  # type: ignore[no-any-return]
