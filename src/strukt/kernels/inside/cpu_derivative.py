"""The derivative of the outside pass of binary trees over spans: forward mode through inside and outside.

It follows how a direction of the scores changes the logs of the inside values (their growth), from narrow to wide,
and how these change the probabilities of spans, from wide to narrow. Nothing is as small as the values
themselves, so that both spaces of `strukt.kernels.inside.cpu` take the same steps.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_semiring import Array, mean_growth, push_change
from strukt.kernels.inside.cpu_chart import log_total, spread
from strukt.kernels.jit import inner, kernel, leading, own_exp


@kernel
def derivative(
    spans: Array, lengths: Array, weights: Array, direction: Array, chart: Array,
    grads: Array, weights_grad: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Gradients of <outside, direction>; they are zeros before."""
    size = spans.shape[1]
    whole = np.empty((4, size, size))
    for b in range(start, spans.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        item = leading(chart[b], (2, n + 1, n + 1))
        if log_total(item) == -np.inf:
            continue
        room = leading(whole, (4, n + 1, n + 1))
        own, mass, change = room[0], room[2], room[3]
        for i in range(n):
            for j in range(i + 1, n + 1):
                own[i, j] = 0.0
                if item[1, i, j] > -np.inf:
                    own[i, j] = _share_labels(spans, b, i, j, item[1, i, j], direction, grads)
        weights_grad[b] = differentiate(item, room)
        for i in range(n):
            for j in range(i + 1, n + 1):
                total = weights[b] * (mass[i, j] + mass[j, i])
                rest = weights[b] * (change[i, j] + change[j, i])
                for label in range(spans.shape[3]):
                    grads[b, i, j, label] *= rest + total * (direction[b, i, j, label] - own[i, j])


@inner
def _share_labels(
    spans: Array, b: int, i: int, j: int, log_sum: float, direction: Array, shares: Array
) -> float:
    """The shares of the labels of a span in its sum, of which this is the log; gives its derivative."""
    growth = 0.0
    for label in range(spans.shape[3]):
        share = own_exp(spans.dtype.type(spans[b, i, j, label] - log_sum))
        shares[b, i, j, label] = share
        growth += share * direction[b, i, j, label]
    return growth


@inner
def differentiate(chart: Array, room: Array) -> float:
    """How what spans contribute themselves changes their probabilities; gives the change of the log-partition.

    Args:
        chart: That of an item of length n with at least one tree.
        room: ``(4, n + 1, n + 1)``. Given above the diagonal of ``[0]``: the derivatives of the logs of what spans
            contribute themselves, 0 where that is zero. Found: the probabilities in ``[2]``, and their derivatives
            in ``[3]``, both in two parts, on both sides of the diagonal.
    """
    own, growth, mass, change = room[0], room[1], room[2], room[3]
    _grow(chart, own, growth)
    spread(chart, mass)
    _spread_change(chart, own, growth, mass, change)
    return growth[0, chart.shape[1] - 1]  # type: ignore[no-any-return]


@inner
def _grow(chart: Array, own: Array, growth: Array) -> None:
    """Derivatives of the logs of inside values, on both sides of the diagonal as these.

    Those of the values without ``own`` come to stand in ``own``, on the other side of the diagonal.
    """
    values, logs = chart[0], chart[1]
    semiring = int(values[0, 0])
    size = values.shape[0]
    for width in range(1, size):
        for i in range(size - width):
            j = i + width
            own[j, i] = mean_growth(semiring, logs[j, i], values, i, values, j, i + 1, j, 0, growth, growth)
            growth[i, j] = growth[j, i] = own[i, j] + own[j, i]


@inner
def _spread_change(chart: Array, own: Array, growth: Array, mass: Array, change: Array) -> None:
    """Derivatives of the probabilities that were spread, from wide to narrow."""
    values, logs = chart[0], chart[1]
    semiring = int(values[0, 0])
    size = values.shape[0]
    change[:, :] = 0.0
    for width in range(size - 1, 1, -1):
        for i in range(size - width):
            j = i + width
            push_change(
                semiring, mass[i, j] + mass[j, i], change[i, j] + change[j, i], logs[j, i], own[j, i],
                values, i, values, j, i + 1, j, 0, growth, growth, change, change,
            )  # fmt: skip
