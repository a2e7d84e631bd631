"""The best segmentation, by dynamic programming in double precision."""

from __future__ import annotations

import numpy as np

from strukt.kernels.chain.cpu_log import enter_max
from strukt.kernels.jit import kernel, scratch
from strukt.kernels.semi_markov.cpu_log import Array


@kernel
def viterbi(
    segments: Array, transition: Array, lengths: Array, labels: Array, score: Array, start: int, step: int
) -> None:
    """The labels at the starts of the best segments, and their score."""
    batch, n, _, c = segments.shape
    entered, ended = scratch(n + 1, c), scratch(n + 1, c)
    for b in range(start, batch, step):
        length = lengths[b]
        if length == 0:
            continue
        pairs = transition[b * transition.shape[0] // batch].astype(np.float64)
        _fill(segments[b], pairs, length, entered, ended)
        score[b] = ended[length].max()
        if score[b] > -np.inf:
            _trace(segments[b], pairs, length, entered, ended, labels[b])


@kernel
def _fill(segments: Array, transition: Array, length: int, entered: Array, ended: Array) -> None:
    """For each position the best ways to be there, by the label that starts and by the label that ends."""
    k, c = segments.shape[1:]
    entered[0, :] = 0.0
    for end in range(1, length + 1):
        ended[end, :] = -np.inf
        for d in range(min(k, end)):
            start = end - 1 - d
            for j in range(c):
                ended[end, j] = max(ended[end, j], entered[start, j] + segments[start, d, j])
        if transition.shape[0] == 1:
            entered[end, :] = ended[end].max() + transition[0, 0]
        else:
            enter_max(ended[end], transition, entered[end])


@kernel
def _trace(
    segments: Array, transition: Array, length: int, entered: Array, ended: Array, labels: Array
) -> None:
    """Walk back from the end; the way back finds each predecessor again in O(k + c)."""
    k = segments.shape[1]
    end, label = length, int(np.argmax(ended[length]))
    while end > 0:
        start, top = end - 1, -np.inf
        for d in range(min(k, end)):
            found = entered[end - 1 - d, label] + segments[end - 1 - d, d, label]
            if found > top:
                start, top = end - 1 - d, found
        labels[start] = label
        if start > 0:
            label = _best_before(ended[start], transition, label)
        end = start


@kernel
def _best_before(ended: Array, transition: Array, following: int) -> int:
    """The best label of the segment before one of a given label."""
    last = transition.shape[0] - 1
    label, top = 0, -np.inf
    for i in range(ended.shape[0]):
        found = ended[i] + transition[min(i, last), min(following, last)]
        if found > top:
            label, top = i, found
    return label
