"""The best segmentation and the k best, by dynamic programming in double precision.

A segmentation is chosen from its end backwards: the label of a segment, then its duration. The way back finds each
predecessor again in O(k + c).
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_candidates import Candidates, make_candidates, offer_others, take
from strukt.kernels.jit import inner, kernel, scratch
from strukt.structures.linear_chain.cpu_log import enter_max
from strukt.structures.semi_markov.cpu_log import Array, at_boundary


@kernel
def viterbi(
    segments: Array, transition: Array, lengths: Array, labels: Array, score: Array, start: int, step: int
) -> None:
    """The labels at the starts of the best segments, and their score."""
    batch, n, k, c = segments.shape
    entered, ended, room = scratch(n + 1, c), scratch(n + 1, c), scratch(1, max(k, c))[0]
    for b in range(start, batch, step):
        length = lengths[b]
        if length == 0:
            continue
        pairs = transition[b * transition.shape[0] // batch].astype(np.float64)
        _fill(segments[b], pairs, length, entered, ended)
        score[b] = ended[length].max()
        if score[b] > -np.inf:
            _complete(segments[b], pairs, entered, ended, room, labels[b, :length], length)


@inner
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
        if end == length:
            return
        matrix = at_boundary(transition, end)
        if matrix.shape[0] == 1:
            entered[end, :] = ended[end].max() + matrix[0, 0]
        else:
            enter_max(ended[end], matrix, entered[end])


@inner
def _by_label(transition: Array, ended: Array, labels: Array, end: int, room: Array) -> Array:
    """The best score with each label of a segment that ends at ``end``, given what follows it."""
    ways = room[: ended.shape[1]]
    ways[:] = ended[end]
    if end < labels.shape[0]:
        matrix = at_boundary(transition, end)
        last = matrix.shape[0] - 1
        for i in range(ways.shape[0]):
            ways[i] += matrix[min(i, last), min(labels[end], last)]
    return ways


@inner
def _by_duration(segments: Array, entered: Array, end: int, label: int, room: Array) -> Array:
    """The best score with each duration of a segment of a label that ends at ``end``."""
    ways = room[: min(segments.shape[1], end)]
    for d in range(ways.shape[0]):
        ways[d] = entered[end - 1 - d, label] + segments[end - 1 - d, d, label]
    return ways


@inner
def _complete(
    segments: Array, transition: Array, entered: Array, ended: Array, room: Array, labels: Array, end: int
) -> None:
    """Fill in the best segments up to ``end``, given the labels from there on."""
    while end > 0:
        label = int(np.argmax(_by_label(transition, ended, labels, end, room)))
        end -= 1 + int(np.argmax(_by_duration(segments, entered, end, label, room)))
        labels[end] = label


@kernel
def kbest(
    segments: Array, transition: Array, lengths: Array, labels: Array, scores: Array, start: int, step: int
) -> None:
    """The labels at the starts of the k best segmentations ``(batch, k, n)``, and their scores ``(batch, k)``."""
    batch, n, durations, c = segments.shape
    entered, ended, room = scratch(n + 1, c), scratch(n + 1, c), scratch(1, max(durations, c))[0]
    for b in range(start, batch, step):
        length = lengths[b]
        if length == 0:
            continue
        pairs = transition[b * transition.shape[0] // batch].astype(np.float64)
        _fill(segments[b], pairs, length, entered, ended)
        scores[b, 0] = ended[length].max()
        if scores[b, 0] > -np.inf:
            _list(segments[b], pairs, entered, ended, room, labels[b, :, :length], scores[b])


@inner
def _list(
    segments: Array,
    transition: Array,
    entered: Array,
    ended: Array,
    room: Array,
    labels: Array,
    scores: Array,
) -> None:
    """The best segmentations in order, each a deviation from one before it.

    The place of the choice of a label is twice the end of its segment, that of its duration one less.
    """
    k, length = labels.shape
    candidates, place = make_candidates(k), 2 * length + 1
    _complete(segments, transition, entered, ended, room, labels[0], length)
    for rank in range(1, k):
        _offer_deviations(
            segments, transition, entered, ended, room, labels[rank - 1], scores[rank - 1], rank - 1, place,
            candidates,
        )  # fmt: skip
        scores[rank], parent, place, choice = take(candidates)
        if scores[rank] == -np.inf:
            return
        end = (place + 1) // 2
        labels[rank, end:] = labels[parent, end:]
        if place % 2 == 0:
            label = choice
            end -= 1 + int(np.argmax(_by_duration(segments, entered, end, label, room)))
        else:
            label = labels[parent, _start_before(labels[parent], end)]
            end -= 1 + choice
        labels[rank, end] = label
        _complete(segments, transition, entered, ended, room, labels[rank], end)


@inner
def _start_before(labels: Array, end: int) -> int:
    """The start of the segment that ends at ``end``."""
    start = end - 1
    while labels[start] < 0:
        start -= 1
    return start


@inner
def _offer_deviations(
    segments: Array, transition: Array, entered: Array, ended: Array, room: Array, labels: Array, score: float,
    rank: int, place: int, candidates: Candidates,
) -> None:  # fmt: skip
    """Offer every other label and duration at the places before ``place``."""
    end = labels.shape[0]
    while end > 0:
        start = _start_before(labels, end)
        if 2 * end < place:
            ways = _by_label(transition, ended, labels, end, room)
            offer_others(candidates, rank, 2 * end, ways, labels[start], score)
        if 2 * end - 1 < place:
            ways = _by_duration(segments, entered, end, labels[start], room)
            offer_others(candidates, rank, 2 * end - 1, ways, end - 1 - start, score)
        end = start
