"""The backward pass over segmentations in scaled probability space, with the charts of `cpu_forward`."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import difference
from strukt.kernels.jit import inner, kernel, scratch
from strukt.structures.linear_chain.cpu_backward import add_products
from strukt.structures.semi_markov.cpu_forward import (
    FILLED,
    at_boundary,
    exponentiate,
    pages,
    shift_at,
    through,
    total_of,
)


@inner
def _weigh_starts(
    segments: Array, start: int, durations: int, entered: Array, scales: Array, exits: Array, logs: Array
) -> None:
    """Write the log-weights of the segments that start at a position to ``logs (k c,)``.

    They are relative to the scales at both their ends; -inf for labels that no path reaches. ``exits (n + 1,)``
    holds the scales without the shifts of the transitions.
    """
    c = segments.shape[2]
    for d in range(durations):
        change = difference(scales[start], exits[start + d + 1])
        for j in range(c):
            log = segments[start, d, j] + change
            logs[d * c + j] = log if entered[start, j] > 0.0 else -np.inf


@inner
def _backward_item(
    segments: Array, transposed: Array, shifts: Array, length: int, weight: float, entered: Array, ended: Array,
    scales: Array, marginals: Array, pairs: Array,
) -> None:  # fmt: skip
    """Write the marginals of an item's segments, times ``weight``; add its expected transitions to ``pairs``.

    At position t and label j, ``onward`` times ``ended`` is the probability that a segment of label j ends at t,
    and ``flow`` times ``entered`` the probability that one starts there.
    """
    k, c = segments.shape[1:]
    logs = scratch(1, k * c)[0]
    onward, flow, exits = scratch(length + 1, c), scratch(length + 1, c), np.empty(length + 1)
    for t in range(1, length):
        exits[t] = scales[t] - shift_at(shifts, t)
    exits[length] = scales[length]
    flow[:, :] = 0.0
    onward[:, :] = 0.0
    onward[length, :] = 1.0 / total_of(ended[length])
    for start in range(length - 1, -1, -1):
        durations = min(k, length - start)
        _weigh_starts(segments, start, durations, entered, scales, exits, logs)
        exponentiate(logs, durations * c, 0.0)
        for d in range(durations):
            for j in range(c):
                rest = logs[d * c + j] * onward[start + d + 1, j]
                flow[start, j] += rest
                marginals[start, d, j] = weight * entered[start, j] * rest
        if start > 0:
            through(flow[start : start + 1], at_boundary(transposed, start), onward[start : start + 1])
    if length < 2:  # no boundary, and unused weights may be NaN
        return
    if transposed.shape[0] == 1:
        _add_pairs(ended[1:length], flow[1:length], transposed[0], weight, pairs[0])
    else:
        for t in range(1, length):
            _add_pairs(ended[t : t + 1], flow[t : t + 1], transposed[t - 1], weight, pairs[t - 1])


@inner
def _add_pairs(ended: Array, flow: Array, transposed: Array, weight: float, pairs: Array) -> None:
    """Add the expected transitions, times ``weight``, at some boundaries that share a matrix.

    Args:
        ended: ``(boundaries, c)``, the totals after the segments that end there.
        flow: ``(boundaries, c)``, the backward sums of the segments that start there.
        transposed: ``(c, c)`` or ``(1, 1)``, the transposed weights of transitions.
        weight: The weight of the item.
        pairs: ``(c, c)``, or ``(1, 1)`` for all pairs of labels: the array to add to.
    """
    if transposed.shape[0] == 1:
        for t in range(ended.shape[0]):
            pairs[0, 0] += weight * total_of(ended[t]) * transposed[0, 0] * total_of(flow[t])
        return
    c = ended.shape[1]
    products = scratch(c, c)
    products[:, :] = 0.0
    add_products(ended, flow, weight, products)
    for i in range(c):
        for j in range(c):
            pairs[i, j] += products[i, j] * transposed[j, i]


@inner
def _clear_padding(marginals: Array, length: int) -> None:
    """Write zeros to the marginals of segments that extend past the length."""
    n, k, _ = marginals.shape
    for start in range(max(length - k + 1, 0), n):
        marginals[start, max(length - start, 0) :] = 0.0


@kernel
def backward(
    segments: Array, lengths: Array, matrices: Array, tops: Array, weights: Array, chart: Array,
    marginals: Array, pairs: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the marginals of segments, times ``weights``; add expected transitions to the slots of the threads.

    Arrays: those of `cpu_forward.forward`, with transposed ``matrices``, ``weights (batch,)``,
    ``marginals (batch, n, k, c)`` and ``pairs (slots, g, steps, c, c)``.
    """
    batch, _, _, c = segments.shape
    slot = start % pairs.shape[0]
    for b in range(start, batch, step):
        n = lengths[b]
        group = b * matrices.shape[0] // batch
        entered, ended, scales = pages(chart[b], n, c)
        is_filled = chart[b, 0] == FILLED
        _clear_padding(marginals[b], n if is_filled else 0)
        if is_filled:
            _backward_item(
                segments[b],
                matrices[group],
                tops[group],
                n,
                weights[b],
                entered,
                ended,
                scales,
                marginals[b],
                pairs[slot, group],
            )
