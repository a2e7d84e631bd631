"""Eisner's recursion over half-trees in a semiring, and the total of the trees of an item."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_semiring import LOG, PROBABILITY, Array, dot, one, weigh, zero
from strukt.kernels.eisner import cpu_tree
from strukt.kernels.eisner.cpu_weights import all_kept, in_range, load
from strukt.kernels.jit import inner

SMALLEST = 1e-200
"""Totals in probability space below this are computed again."""


@inner
def half_trees(semiring: int, weights: Array, chart: Array) -> None:
    n = weights.shape[0]
    right, left, open_ = chart[0], chart[1], chart[2]
    for i in range(n):
        right[i, i] = left[i, i] = one(semiring)
        open_[i, i] = zero(semiring)
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            joined = dot(semiring, right, i, left, j, i, j, 1)
            open_[i, j] = weigh(semiring, joined, weights[j, i + 1])
            open_[j, i] = weigh(semiring, joined, weights[i, j + 1])
            right[i, j] = right[j, i] = dot(semiring, open_, i, right, j, i + 1, j + 1, 0)
            left[i, j] = left[j, i] = dot(semiring, left, i, open_, j, i, j, 0)


@inner
def tree_total(semiring: int, arcs: Array, b: int, single_root: bool, factor: float, chart: Array) -> float:
    """Fill the chart of item b; gives the log of the total, NaN where something could underflow."""
    n = chart.shape[1]
    weights = np.empty((n, n + 1))
    shift = load(semiring, arcs, b, factor, weights)
    if shift == -np.inf:
        chart[0, 0, 0] = one(LOG)
        return -np.inf
    half_trees(semiring, weights, chart)
    chart[2, 0, 0] = factor
    totals, attached = cpu_tree.attach_to_root(semiring, weights, chart, single_root)
    if semiring != PROBABILITY:
        return float(shift + totals[0, n])
    if factor != 1.0:
        if not all_kept(arcs, b, weights):
            return np.nan
        for values in (chart[0], chart[1], chart[2], totals, attached):
            if not in_range(values):
                return np.nan
    return float(shift + np.log(totals[0, n])) if totals[0, n] > SMALLEST else np.nan


@inner
def factor_of(chart: Array) -> float:
    """What keeps the half-trees of the first word near 1, judged by the widest that did not underflow."""
    width = chart.shape[1] - 1
    while width > 0 and chart[0, 0, width] < SMALLEST:
        width -= 1
    return float(chart[0, 0, width] ** (-1.0 / width)) if width > 0 else 1.0
