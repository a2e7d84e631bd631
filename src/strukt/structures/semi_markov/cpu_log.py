"""Sums over segmentations in log space, for items whose probabilities would underflow.

Logs are kept relative to a scale for each position, near the best there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import difference, exp, inner, kernel, scratch
from strukt.structures.linear_chain import cpu_log

Array = npt.NDArray[Any]


@inner
def at_boundary(matrices: Array, position: int) -> Array:
    """The matrix of the boundary before a position; all boundaries may share one."""
    return matrices[min(position, matrices.shape[0]) - 1]  # type: ignore[no-any-return]


@kernel
def log_sum(values: Array) -> float:
    """The log-sum-exp of a vector."""
    top = -np.inf
    for j in range(values.shape[0]):
        top = max(top, values[j])
    if top == -np.inf:
        return top
    total = 0.0
    for j in range(values.shape[0]):
        total += exp(values[j] - top)
    return top + np.log(total)  # type: ignore[no-any-return]


@inner
def _enter(ended: Array, transition: Array, tops: Array, entered: Array) -> None:
    """What may start at a position from what ends there."""
    if transition.shape[0] == 1:
        entered[:] = log_sum(ended) + transition[0, 0]
    else:
        cpu_log.enter_log(ended, transition, tops, entered)


@inner
def _weigh_ends(
    segments: Array, end: int, entered: Array, scales: Array, base: float, through: Array, tops: Array
) -> None:
    """The scores of all ways that end at a position, ``(durations, c)``, and the best for each label."""
    tops[:] = -np.inf
    for d in range(through.shape[0]):
        start = end - 1 - d
        for j in range(tops.shape[0]):
            through[d, j] = entered[start, j] + (segments[start, d, j] + difference(scales[start], base))
            tops[j] = max(tops[j], through[d, j])


@inner
def _sum_durations(through: Array, tops: Array, out: Array) -> None:
    """The log-sum-exp over durations, for each label."""
    out[:] = 0.0
    for d in range(through.shape[0]):
        for j in range(out.shape[0]):
            out[j] += exp(through[d, j] - tops[j]) if tops[j] > -np.inf else 0.0
    for j in range(out.shape[0]):
        out[j] = tops[j] + np.log(out[j]) if out[j] > 0.0 else -np.inf


@inner
def forward_item(
    segments: Array, transition: Array, length: int, entered: Array, ended: Array, scales: Array
) -> float:
    """The log-partition of one item; ``entered`` and ``ended`` get logs relative to the scales."""
    k, c = segments.shape[1:]
    tops, through = np.empty(c), scratch(k, c)
    base = 0.0
    entered[0, :] = 0.0
    scales[0] = 0.0
    for end in range(1, length + 1):
        ways = through[: min(k, end)]
        _weigh_ends(segments, end, entered, scales, base, ways, tops)
        _sum_durations(ways, tops, ended[end])
        top = np.rint(tops.max())
        if top > -np.inf:
            base += top
            for j in range(c):
                ended[end, j] -= top
        scales[end] = base
        if end < length:
            _enter(ended[end], at_boundary(transition, end), tops, entered[end])
    entered[length, :] = -np.inf
    return base + log_sum(ended[length])


@inner
def backward_item(
    segments: Array, transition: Array, length: int, weight: float, entered: Array, ended: Array, scales: Array,
    marginals: Array, pairs: Array,
) -> None:  # fmt: skip
    """Weighted marginals of the segments of one item; its expected transitions are added to ``pairs``.

    ``onward`` plus ``ended`` is the log-probability of a boundary after a label, ``flow`` plus ``entered`` that of
    one before a label.
    """
    k, c = segments.shape[1:]
    onward, through = scratch(length + 1, c), scratch(k, c)
    flow, tops = np.empty(c), np.empty(c)
    onward[length, :] = -log_sum(ended[length])
    for start in range(length - 1, -1, -1):
        ways = through[: min(k, length - start)]
        _weigh_starts(segments, start, scales, onward, ways, tops)
        _sum_durations(ways, tops, flow)
        for d in range(ways.shape[0]):
            for j in range(c):
                marginals[start, d, j] = weight * exp(entered[start, j] + ways[d, j])
        if start > 0:
            matrix = at_boundary(transition, start)
            _leave(matrix, flow, onward[start])
            _add_pairs(ended[start], matrix, flow, onward[start], weight, at_boundary(pairs, start))


@inner
def _weigh_starts(
    segments: Array, start: int, scales: Array, onward: Array, through: Array, tops: Array
) -> None:
    """The scores of all ways onward from a position, ``(durations, c)``, and the best for each label."""
    tops[:] = -np.inf
    for d in range(through.shape[0]):
        scale = difference(scales[start], scales[start + d + 1])
        for j in range(tops.shape[0]):
            through[d, j] = (segments[start, d, j] + scale) + onward[start + d + 1, j]
            tops[j] = max(tops[j], through[d, j])


@inner
def _leave(transition: Array, flow: Array, onward: Array) -> None:
    """What follows a segment of each label, from what follows by the label of the next."""
    rows, c = transition.shape[0], flow.shape[0]
    if rows == 1:
        onward[:] = log_sum(flow) + transition[0, 0]
        return
    following = np.empty(c)
    for i in range(c):
        for j in range(c):
            following[j] = transition[i, j] + flow[j]
        onward[i] = log_sum(following)


@inner
def _add_pairs(
    ended: Array, transition: Array, flow: Array, onward: Array, weight: float, pairs: Array
) -> None:
    c = flow.shape[0]
    if transition.shape[0] == 1:
        for i in range(c):
            pairs[0, 0] += weight * exp(ended[i] + onward[i])
        return
    for i in range(c):
        for j in range(c):
            pairs[i, j] += weight * exp(ended[i] + transition[i, j] + flow[j])
