"""The Matrix-Tree theorem in Numba: elimination without subtraction, in probability space.

The elimination is that of `matrix_tree`, with weights normalised over the heads of each word. A number that
underflows is below 1e-308, while the pivots have a product, the total, that must exceed `SMALLEST`. An item with a
smaller total, or with a word that reaches no other remaining word, is left to `cpu_matrix_tree_extended`. The
single root needs no orders here: to first order in the root's arcs, every pivot but the last excludes them.

The first n (n + 1) entries of the chart of an item of length n hold the factors of the elimination. Row k holds
the shares of word k's heads among the words before it and the root. Column k + 1 holds the weights of k as head of
the words before it. The entry of a word as its own head, which no tree uses, holds its pivot. Word 0 is swapped
with the word that has the largest weight for the root, so that a known root is never eliminated early.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel, leading, scratch
from strukt.structures.non_projective_tree.cpu_derivative import eliminate_change, gradient_change

SMALLEST = 1e-100
"""The total below which an item is left to `cpu_matrix_tree_extended`."""

UNDERFLOWED, IMPOSSIBLE = -1.0, -2.0
"""The marks in the chart, in place of the pivot of word 0, of items that `cpu_matrix_tree_extended` must compute,
and of those without trees or without words."""


@inner
def _load(arcs: Array, b: int, single_root: bool, place: Array, weights: Array) -> float:
    """Write the normalised weights of item b, words permuted; return the log of what they were divided by in all.

    The result is NaN if the item must be left to `cpu_matrix_tree_extended`. The position of each word is written
    to ``place (n,)``. With a single root, each row of ``weights (n, n + 1)`` is normalised over the words only,
    and the root's column is divided by its largest entry.
    """
    n = weights.shape[0]
    first = 1 if single_root else 0
    shift = 0.0
    root_top = -np.inf
    for m in range(n):
        for h in range(n + 1):
            weights[m, h] = arcs[b, m, h]
        weights[m, m + 1] = -np.inf
        top = 0.0 if n == 1 and single_root else -np.inf
        for h in range(first, n + 1):
            top = max(top, weights[m, h])
        if top == -np.inf:
            return np.nan
        mass = 1.0 if n == 1 and single_root else 0.0
        for h in range(first, n + 1):
            weights[m, h] = exp(weights[m, h] - top)
            mass += weights[m, h]
        for h in range(first, n + 1):
            weights[m, h] /= mass
        base = top + np.log(mass)
        shift += base
        root_top = max(root_top, arcs[b, m, 0] - base)
        if single_root:
            weights[m, 0] = arcs[b, m, 0] - base
    if single_root and root_top == -np.inf:
        return np.nan
    likeliest = 0
    for m in range(n):
        place[m] = m
        if weights[m, 0] > weights[likeliest, 0]:
            likeliest = m
    if single_root:
        for m in range(n):
            weights[m, 0] = exp(weights[m, 0] - root_top)
    place[0], place[likeliest] = likeliest, 0
    if likeliest > 0:
        for h in range(n + 1):
            weights[0, h], weights[likeliest, h] = weights[likeliest, h], weights[0, h]
        for m in range(n):
            weights[m, 1], weights[m, likeliest + 1] = weights[m, likeliest + 1], weights[m, 1]
    return shift + root_top if single_root else shift


@inner
def _eliminate(weights: Array, single_root: bool) -> float:
    """Turn ``weights (n, n + 1)`` into factors, in place; return the log of the total, NaN for underflow."""
    n = weights.shape[0]
    total = 1.0
    log_total = 0.0
    for k in range(n - 1, -1, -1):
        pivot = 0.0
        for j in range(1, k + 1):
            pivot += weights[k, j]
        if k == 0 or not single_root:
            pivot += weights[k, 0]
        total *= pivot
        if not total > SMALLEST:
            return np.nan
        log_total += np.log(pivot)
        for j in range(k + 1):
            weights[k, j] /= pivot
        weights[k, k + 1] = pivot
        for i in range(k):
            into = weights[i, k + 1]
            saved = weights[i, i + 1]
            for j in range(k + 1):
                weights[i, j] += into * weights[k, j]
            weights[i, i + 1] = saved
    return log_total


@kernel
def inside(
    arcs: Array, lengths: Array, single_root: bool, chart: Array, log_partition: Array, start: int, step: int
) -> None:
    """Write the chart of each item, and its log-partition, or a mark in the chart if it may underflow.

    Arrays: ``arcs`` and ``chart (batch, n, n + 1)``, and ``lengths`` and ``log_partition (batch,)``, which must be
    0 before.
    """
    place = np.empty(arcs.shape[1], np.int64)
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        chart[b, 0, 1] = IMPOSSIBLE
        if n == 0:
            continue
        weights = leading(chart[b], (n, n + 1))
        total = _load(arcs, b, single_root, place, weights)
        if not np.isnan(total):
            total += _eliminate(weights, single_root)
        if np.isnan(total):
            weights[0, 1] = UNDERFLOWED
        else:
            log_partition[b] = total


@inner
def _gradient(factors: Array, single_root: bool, out: Array) -> None:
    """Write ``out (n, n + 1)``, the derivatives of the log-total with respect to weights, from the factors."""
    n = factors.shape[0]
    shared = np.empty(n + 1)
    out[:, :] = 0.0
    for k in range(n):
        pivot = factors[k, k + 1]
        shared[:] = 0.0
        whole = min((k + 8) // 8 * 8, n + 1)  # columns after k + 1 are multiplied by zeros
        for i in range(k):
            into = factors[i, k + 1]
            total = 0.0
            for j in range(whole):
                shared[j] += into * out[i, j]
                total += out[i, j] * factors[k, j]
            out[i, k + 1] = total
        through = 0.0
        for j in range(k + 1):
            through += shared[j] * factors[k, j]
        for j in range(k + 1):
            in_pivot = j > 0 or k == 0 or not single_root
            out[k, j] = (shared[j] + (1.0 - through if in_pivot else 0.0)) / pivot
        out[k, k + 1] = 0.0


@kernel
def outside(
    arcs: Array, lengths: Array, single_root: bool, weights: Array, chart: Array, marginals: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write ``marginals``: the probability of each arc, times the weight of its item.

    Entries of items with a mark, and of padding, are not written.

    Arrays: ``arcs``, ``chart`` and ``marginals (batch, n, n + 1)``, ``lengths`` and ``weights (batch,)``.
    """
    longest = arcs.shape[1]
    place = np.empty(longest, np.int64)
    loaded, slopes = scratch(longest, longest + 1), scratch(longest, longest + 1)
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        factors = leading(chart[b], (n, n + 1))
        if n == 0 or factors[0, 1] < 0.0:
            continue
        arc_weights, slope = leading(loaded, (n, n + 1)), leading(slopes, (n, n + 1))
        _load(arcs, b, single_root, place, arc_weights)
        _gradient(factors, single_root, slope)
        for k in range(n):
            m = place[k]
            marginals[b, m, 0] = weights[b] * max(slope[k, 0] * arc_weights[k, 0], 0.0)
            for j in range(n):
                marginals[b, m, place[j] + 1] = weights[b] * max(slope[k, j + 1] * arc_weights[k, j + 1], 0.0)


@kernel
def derivative(
    arcs: Array, lengths: Array, single_root: bool, weights: Array, direction: Array, chart: Array,
    grads: Array, weights_grad: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the gradients of <`outside`, direction>: ``grads`` in the scores, ``weights_grad`` in the weights.

    Entries of items with a mark, and of padding, are not written.

    Arrays: ``arcs``, ``direction``, ``chart`` and ``grads (batch, n, n + 1)``, ``lengths``, ``weights`` and
    ``weights_grad (batch,)``.
    """
    longest = arcs.shape[1]
    place, shared = np.empty(longest, np.int64), np.empty((2, longest + 1))
    whole = np.empty((4, longest, longest + 1))
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        factors = leading(chart[b], (n, n + 1))
        if n == 0 or factors[0, 1] < 0.0:
            continue
        workspace = leading(whole, (4, n, n + 1))
        arc_weights, change, slope, slope_change = workspace[0], workspace[1], workspace[2], workspace[3]
        _load(arcs, b, single_root, place, arc_weights)
        for k in range(n):
            for j in range(n + 1):
                h = place[j - 1] + 1 if j > 0 else 0
                # If a weight is 0, its direction is arbitrary.
                change[k, j] = arc_weights[k, j] * direction[b, place[k], h] if arc_weights[k, j] > 0.0 else 0.0
        direct_change = change.copy()
        weights_grad[b] = eliminate_change(factors, single_root, change)
        gradient_change(factors, change, single_root, slope, slope_change, shared)
        for k in range(n):
            for j in range(n + 1):
                h = place[j - 1] + 1 if j > 0 else 0
                result = direct_change[k, j] * slope[k, j] + arc_weights[k, j] * slope_change[k, j]
                grads[b, place[k], h] = weights[b] * result
