"""The Matrix-Tree theorem in extended numbers, for items whose total underflows in plain ones.

The elimination is that of `cpu_matrix_tree`. A single root needs an epsilon here: see `cpu_marginals`.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.extended import from_log, settled, to_log
from strukt.kernels.jit import inner, kernel
from strukt.structures.non_projective_tree import cpu_marginals
from strukt.structures.non_projective_tree.cpu_marginals import ORDER
from strukt.structures.non_projective_tree.cpu_matrix_tree import IMPOSSIBLE, UNDERFLOWED
from strukt.structures.non_projective_tree.cpu_numbers import add_row, divide_row, total_of


@kernel
def inside(
    arcs: Array, lengths: Array, single_root: bool, chart: Array, log_partition: Array, start: int, step: int
) -> None:
    """Write the log-partitions of the items that underflow; mark those without trees.

    The arguments are those of `cpu_matrix_tree.inside`, of which this is the second pass.
    """
    for b in range(start, arcs.shape[0], step):
        if chart[b, 0, 1] == UNDERFLOWED:
            log_partition[b] = _log_total(arcs[b, : lengths[b], : lengths[b] + 1], single_root)
            if log_partition[b] == -np.inf:
                chart[b, 0, 1] = IMPOSSIBLE


@kernel
def outside(
    arcs: Array, lengths: Array, single_root: bool, weights: Array, chart: Array, marginals: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write the probabilities of arcs of the items that underflow, times their weights.

    The arguments are those of `cpu_matrix_tree.outside`, of which this is the second pass.
    """
    for b in range(start, arcs.shape[0], step):
        if chart[b, 0, 1] == UNDERFLOWED:
            n = lengths[b]
            values, ranks, mass = np.empty((n, n + 1)), np.empty((n, n + 1)), np.empty((n, n + 1))
            _load(arcs[b, :n, : n + 1], values, ranks)
            cpu_marginals.marginals(values, ranks, None, single_root, mass, None)
            for m in range(n):
                for h in range(n + 1):
                    marginals[b, m, h] = weights[b] * mass[m, h]


@kernel
def derivative(
    arcs: Array, lengths: Array, single_root: bool, weights: Array, direction: Array, chart: Array,
    grads: Array, weights_grad: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the gradients of <`outside`, direction> of the items that underflow.

    The arguments are those of `cpu_matrix_tree.derivative`, of which this is the second pass. Hessians are
    symmetric, so a gradient is the derivative of the marginals along the direction.
    """
    for b in range(start, arcs.shape[0], step):
        if chart[b, 0, 1] == UNDERFLOWED:
            n = lengths[b]
            values, ranks, mass = np.empty((n, n + 1)), np.empty((n, n + 1)), np.empty((n, n + 1))
            toward, moved = np.zeros((n, n + 1)), np.empty((n, n + 1))
            _load(arcs[b, :n, : n + 1], values, ranks)
            for m in range(n):
                for h in range(n + 1):
                    # If a weight is 0, its direction is arbitrary.
                    toward[m, h] = direction[b, m, h] if ranks[m, h] > -np.inf else 0.0
            cpu_marginals.marginals(values, ranks, toward, single_root, mass, moved)
            for m in range(n):
                for h in range(n + 1):
                    grads[b, m, h] = weights[b] * moved[m, h]
                    weights_grad[b] += mass[m, h] * toward[m, h]


@inner
def _log_total(arcs: Array, single_root: bool) -> float:
    """Return the log-partition of one sentence with scores ``arcs (n, n + 1)``; -inf if there is no tree."""
    n = arcs.shape[0]
    weights, ranks = np.empty((n, n + 1)), np.empty((n, n + 1))
    shift = _load(arcs, weights, ranks)
    if single_root:
        ranks[:, 0] -= ORDER
    total, top = 1.0, ORDER if single_root else 0.0
    for k in range(n - 1, -1, -1):
        pivot, rank = total_of(weights, ranks, k, 0, k + 1)
        if not divide_row(weights, ranks, None, k, 0, k + 1, k + 1):
            return -np.inf
        total, top = settled(total * pivot, top + rank)
        for i in range(k):
            add_row(weights, ranks, None, i, k, 0, k + 1, weights[i, k + 1], ranks[i, k + 1], 0.0)
    return shift + to_log(total, top) if top > -0.5 * ORDER else -np.inf


@inner
def _load(arcs: Array, weights: Array, ranks: Array) -> float:
    """Write weights ``(n, n + 1)`` and their ranks, relative to the best head of each word.

    Return the log of what they were divided by in all.
    """
    n = arcs.shape[0]
    shift = 0.0
    for m in range(n):
        top = -np.inf
        for h in range(n + 1):
            if h != m + 1:
                top = max(top, np.float64(arcs[m, h]))
        base = top if top > -np.inf else 0.0
        shift += base
        for h in range(n + 1):
            weights[m, h], ranks[m, h] = from_log(arcs[m, h] - base if h != m + 1 else -np.inf)
    return shift
