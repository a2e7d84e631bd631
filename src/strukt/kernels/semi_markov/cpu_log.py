"""Sums over segmentations in log space, for items whose probabilities would underflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.chain import cpu_log
from strukt.kernels.jit import exp, kernel, scratch

Array = npt.NDArray[Any]


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


@kernel
def _enter(ended: Array, transition: Array, tops: Array, entered: Array) -> None:
    """What may start at a position from what ends there."""
    if transition.shape[0] == 1:
        entered[:] = log_sum(ended) + transition[0, 0]
    else:
        cpu_log.enter_log(ended, transition, tops, entered)


@kernel
def _end(segments: Array, end: int, entered: Array, tops: Array, ended: Array) -> None:
    """The log-sum-exp over durations, for each label."""
    durations, c = min(segments.shape[1], end), segments.shape[2]
    tops[:] = -np.inf
    ended[:] = 0.0
    for d in range(durations):
        start = end - 1 - d
        for j in range(c):
            tops[j] = max(tops[j], entered[start, j] + segments[start, d, j])
    for d in range(durations):
        start = end - 1 - d
        for j in range(c):
            top = tops[j] if tops[j] > -np.inf else 0.0
            ended[j] += exp(entered[start, j] + segments[start, d, j] - top)
    for j in range(c):
        ended[j] = tops[j] + np.log(ended[j]) if ended[j] > 0.0 else -np.inf


@kernel
def forward_item(segments: Array, transition: Array, length: int, entered: Array, ended: Array) -> float:
    """The log-partition of one item; ``entered`` and ``ended`` get the logs of the ways to be at a position."""
    tops = np.empty(segments.shape[2])
    entered[0, :] = 0.0
    for end in range(1, length + 1):
        _end(segments, end, entered, tops, ended[end])
        _enter(ended[end], transition, tops, entered[end])
    return log_sum(ended[length])


@kernel
def backward_item(
    segments: Array, transition: Array, length: int, weight: float, entered: Array, ended: Array,
    marginals: Array, pairs: Array,
) -> None:  # fmt: skip
    """Weighted marginals of the segments of one item; its expected transitions are added to ``pairs``."""
    k, c = segments.shape[1:]
    total = log_sum(ended[length])
    onward, through = scratch(length + 1, c), scratch(k, c)
    onward[length] = 0.0
    flow = np.empty(c)
    for start in range(length - 1, -1, -1):
        durations = min(k, length - start)
        for d in range(durations):
            for j in range(c):
                through[d, j] = segments[start, d, j] + onward[start + d + 1, j]
                marginals[start, d, j] = weight * exp(entered[start, j] + through[d, j] - total)
        for j in range(c):
            flow[j] = log_sum(through[:durations, j])
        if start > 0:
            _leave(transition, flow, onward[start])
            _add_pairs(ended[start], transition, flow, onward[start], weight, total, pairs)


@kernel
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


@kernel
def _add_pairs(
    ended: Array, transition: Array, flow: Array, onward: Array, weight: float, total: float, pairs: Array
) -> None:
    c = flow.shape[0]
    if transition.shape[0] == 1:
        for i in range(c):
            pairs[0, 0] += weight * exp(ended[i] + onward[i] - total)
        return
    for i in range(c):
        for j in range(c):
            pairs[i, j] += weight * exp(ended[i] + transition[i, j] + flow[j] - total)
