"""Samples of trees over spans, from the top downwards, from the chart of the inside pass.

What a span carries is made of features, as in `cpu_kbest`, drawn one by one.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_draw import Kept, find, make_kept, row_of, uniform
from strukt.kernels.cpu_semiring import Array, sum_terms
from strukt.kernels.inside.cpu_chart import log_total
from strukt.kernels.jit import exp, inner, kernel, leading


@kernel
def sample(
    values: Array, lengths: Array, chart: Array, seeds: Array, chunks: int, labels: Array, start: int, step: int
) -> None:  # fmt: skip
    """Trees from seeds ``(batch, count)``; the samples of an item are drawn in so many chunks.

    ``values`` are the scores ``(batch, n + 1, n + 1, features, values)``.
    """
    (batch, count), (features, alternatives) = seeds.shape, values.shape[3:]
    state = np.empty(1, np.uint64)
    for unit in range(start, batch * chunks, step):
        b, first = unit // chunks, unit % chunks
        n = lengths[b]
        item = leading(chart[b], (2, n + 1, n + 1))
        feasible = n > 0 and log_total(item) > -np.inf
        kept = make_kept((n + 1) * (n + 1), 2 * n * (1 + count // chunks), n + features * alternatives)
        for k in range(first, count, chunks):
            labels[b, k] = -1
            if feasible:
                state[0] = seeds[b, k]
                _trace(values[b], item[0], kept, state, labels[b, k])


@inner
def _trace(values: Array, inside: Array, kept: Kept, state: Array, labels: Array) -> None:
    """One tree."""
    n, (features, alternatives) = inside.shape[0] - 1, values.shape[2:]
    stack = np.empty((n + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    depth = 1
    while depth > 0:
        depth -= 1
        i, j = stack[depth]
        row, known = row_of(kept, i * (n + 1) + j)
        sums = kept.sums[row]
        if not known:
            sum_terms(int(inside[0, 0]), inside, i, inside, j, i + 1, j, 0, sums)
            _sum_values(values, i, j, n, sums)
        label, unit = 0, 1
        if alternatives > 1:
            for feature in range(features):
                label += unit * find(sums, n + feature * alternatives, alternatives, uniform(state))
                unit *= alternatives
        labels[i, j] = label
        if j > i + 1:
            split = i + 1 + find(sums, 0, j - i - 1, uniform(state))
            stack[depth, 0], stack[depth, 1] = i, split
            stack[depth + 1, 0], stack[depth + 1, 1] = split, j
            depth += 2


@inner
def _sum_values(values: Array, i: int, j: int, first: int, sums: Array) -> None:
    """Weights of the values of each feature, each with those before it, from ``first`` on."""
    features, alternatives = values.shape[2:]
    for feature in range(features):
        top, summed = -np.inf, 0.0
        for value in range(alternatives):
            top = max(top, np.float64(values[i, j, feature, value]))
        for value in range(alternatives):
            summed += exp(values[i, j, feature, value] - top)
            sums[first + feature * alternatives + value] = summed
