"""The elimination of `matrix_tree` in log space with orders, compiled, without subtraction.

It is for items whose total underflows in probability space. A weight is a logarithm and an order: the number of
root arcs in it if there must be a single root. Sums keep the terms of lowest order. The weights of all levels of
the elimination are stored, so that the outside pass only computes shares between 0 and 1.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner

NOWHERE = 1 << 20
"""The order of weight zero."""


@inner
def log_total(arcs: Array, single_root: bool) -> float:
    """Return the log-partition of one sentence with scores ``arcs (n, n + 1)``."""
    n = arcs.shape[0]
    weights, orders = _levels(n)
    total, order = _load(arcs, single_root, _level(weights, n), _level(orders, n)), 0
    for k in range(n - 1, -1, -1):
        before, before_order = _level(weights, k + 1), _level(orders, k + 1)
        pivot, lowest = _pivot(before[k, : k + 1], before_order[k, : k + 1])
        if pivot == -np.inf:
            return -np.inf
        total += pivot
        order += lowest
        _bypass(before, before_order, pivot, lowest, _level(weights, k), _level(orders, k))
    return total if order == (1 if single_root else 0) else -np.inf


@inner
def marginals(arcs: Array, single_root: bool, scale: float, out: Array) -> None:
    """Write the probability of each arc times ``scale``; zeros if there is no tree."""
    n = arcs.shape[0]
    weights, orders = _levels(n)
    _load(arcs, single_root, _level(weights, n), _level(orders, n))
    pivots = np.empty(n)
    lowest = np.empty(n, np.int64)
    for k in range(n - 1, -1, -1):
        before, before_order = _level(weights, k + 1), _level(orders, k + 1)
        pivots[k], lowest[k] = _pivot(before[k, : k + 1], before_order[k, : k + 1])
        if pivots[k] == -np.inf:
            return
        _bypass(before, before_order, pivots[k], lowest[k], _level(weights, k), _level(orders, k))
    if lowest.sum() != (1 if single_root else 0):
        return
    mass = np.zeros((n, n + 1))
    for k in range(n):
        before, before_order = _level(weights, k + 1), _level(orders, k + 1)
        _share(before, before_order, pivots[k], lowest[k], _level(weights, k), _level(orders, k), mass)
    for m in range(n):
        for h in range(n + 1):
            out[m, h] = scale * mass[m, h]


@inner
def _levels(n: int) -> tuple[Array, Array]:
    """Allocate weights and orders for all levels of the elimination: ``(k, k + 1)`` for the first k words."""
    size = n * (n + 1) * (n + 2) // 3
    return np.empty(size), np.empty(size, np.int64)


@inner
def _level(flat: Array, k: int) -> Array:
    start = (k - 1) * k * (k + 1) // 3
    return flat[start : start + k * (k + 1)].reshape(k, k + 1)


@inner
def _load(arcs: Array, single_root: bool, weights: Array, orders: Array) -> float:
    """Write scores relative to the best head of each word; return the sum of the shifts."""
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
            weights[m, h] = arcs[m, h] - base if h != m + 1 else -np.inf
            orders[m, h] = 1 if h == 0 and single_root else 0
            if weights[m, h] == -np.inf:
                orders[m, h] = NOWHERE
    return shift


@inner
def _pivot(weights: Array, orders: Array) -> tuple[float, int]:
    """Return the log of the summed weights of lowest order, and that order."""
    lowest = NOWHERE
    for j in range(weights.shape[0]):
        lowest = min(lowest, orders[j])
    top = -np.inf
    for j in range(weights.shape[0]):
        if orders[j] == lowest:
            top = max(top, weights[j])
    if top == -np.inf:
        return -np.inf, lowest
    total = 0.0
    for j in range(weights.shape[0]):
        if orders[j] == lowest:
            total += exp(weights[j] - top)
    return top + np.log(total), lowest


@inner
def _bypass(
    before: Array, before_order: Array, pivot: float, lowest: int, after: Array, after_order: Array
) -> None:
    """Eliminate the last word: the weight of each path through it is added to the arc between the path's ends."""
    k = after.shape[0]
    for i in range(k):
        for j in range(k + 1):
            direct, direct_order = before[i, j], before_order[i, j]
            path = before[i, k + 1] + before[k, j] - pivot
            path_order = before_order[i, k + 1] + before_order[k, j] - lowest
            if path == -np.inf or j == i + 1:
                path_order = NOWHERE
            if direct_order < path_order:
                after[i, j] = direct
            elif path_order < direct_order:
                after[i, j] = path
            else:
                top, low = max(direct, path), min(direct, path)
                after[i, j] = top + np.log(1.0 + np.exp(low - top)) if low > -np.inf else top
            after_order[i, j] = min(direct_order, path_order, NOWHERE)


@inner
def _share(
    before: Array,
    before_order: Array,
    pivot: float,
    lowest: int,
    after: Array,
    after_order: Array,
    mass: Array,
) -> None:
    """Undo `_bypass` for probabilities: split each between the arc itself and the path through the last word."""
    k = after.shape[0]
    through = np.zeros(k + 1)
    for i in range(k):
        into = 0.0
        for j in range(k + 1):
            if mass[i, j] > 0.0:
                path = before[i, k + 1] + before[k, j] - pivot
                path_order = before_order[i, k + 1] + before_order[k, j] - lowest
                part = 0.0
                if path > -np.inf and path_order == after_order[i, j]:
                    part = mass[i, j] * exp(path - after[i, j])
                stays = before_order[i, j] == after_order[i, j]
                mass[i, j] = mass[i, j] * exp(before[i, j] - after[i, j]) if stays else 0.0
                into += part
                through[j] += part
        mass[i, k + 1] = into
    rest = 1.0 - through.sum()
    for j in range(k + 1):
        direct = exp(before[k, j] - pivot) if before_order[k, j] == lowest else 0.0
        mass[k, j] = max(through[j] + direct * rest, 0.0)


@inner
def eliminate(weights: Array) -> None:
    """Eliminate all words in place, without orders; row k becomes the log-shares of word k's heads before it."""
    for k in range(weights.shape[0] - 1, -1, -1):
        orders = np.zeros(k + 1, np.int64)
        pivot, _ = _pivot(weights[k, : k + 1], orders)
        if pivot == -np.inf:
            continue
        for j in range(k + 1):
            weights[k, j] -= pivot
        for i in range(k):
            into = weights[i, k + 1]
            for j in range(k + 1):
                path = into + weights[k, j]
                if path > -np.inf and j != i + 1:
                    top, low = max(weights[i, j], path), min(weights[i, j], path)
                    weights[i, j] = top + np.log(1.0 + np.exp(low - top)) if low > -np.inf else top
