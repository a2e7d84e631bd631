"""Viterbi's algorithm for segmentations: the k best, by dynamic programming in double precision.

A segmentation is traced back from its end: the label of a segment, then its duration. Each predecessor is
recomputed in O(d + c), with durations up to d. The table program takes 1.5 times as long for the 8 best, and twice
as long for the best.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, choice_of_value, make_search, start, take
from strukt.kernels.jit import inner, kernel, scratch, write
from strukt.structures.linear_chain.cpu_viterbi import enter_max
from strukt.structures.semi_markov.cpu_forward import at_boundary


@kernel
def kbest(
    segments: Array, transition: Array, lengths: Array, labels: Array, scores: Array, start: int, step: int
) -> None:
    """Write the labels of the k best segmentations to ``labels (batch, k, n)``, and their ``scores (batch, k)``.

    A label is written at the first position of its segment; other entries are left as they are.

    The other arrays are ``segments (batch, n, durations, c)``, ``transition (g, steps, c, c)`` and ``lengths
    (batch,)``.
    """
    batch, n, durations, c = segments.shape
    entered, ended, workspace = scratch(n + 1, c), scratch(n + 1, c), scratch(1, max(durations, c))[0]
    search = make_search(scores.shape[1], 2 * n)
    for b in range(start, batch, step):
        length = lengths[b]
        if length == 0:
            continue
        pairs = transition[b * transition.shape[0] // batch].astype(np.float64)
        _fill(segments[b], pairs, length, entered, ended)
        _list(segments[b], pairs, entered, ended, workspace, search, labels[b, :, :length], scores[b])


@inner
def _fill(segments: Array, transition: Array, length: int, entered: Array, ended: Array) -> None:
    """Write the best score of a path to each position: by the label that starts there, and by the label that ends.

    ``entered[t, j]`` is the best score of the segments up to t if the next has label j, ``ended[t, j]`` if the
    last has label j.
    """
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
def _list(
    segments: Array, transition: Array, entered: Array, ended: Array, workspace: Array, search: Search,
    labels: Array, scores: Array,
) -> None:  # fmt: skip
    """Write the k best segmentations, best first, to ``labels (k, length)`` and ``scores (k,)``.

    If there are fewer, -inf is written to ``scores`` after them, and nothing more.
    """
    start(search, ended[labels.shape[1]].max())
    for rank in range(scores.shape[0]):
        score, deviation = take(search, rank)
        scores[rank] = score
        if score == -np.inf:
            return
        _follow(segments, transition, entered, ended, workspace, search, rank, deviation, score, labels[rank])


@inner
def _follow(
    segments: Array, transition: Array, entered: Array, ended: Array, workspace: Array, search: Search, rank: int,
    deviation: int, score: float, labels: Array,
) -> None:  # fmt: skip
    """Write the segmentation of a rank; its choices are a label and a duration for each segment, last first.

    Choices up to place ``deviation`` are those of ``search.choices[rank]``; later ones are the best completion.
    """
    end, place, choices = labels.shape[0], 0, search.choices[rank]
    while end > 0:
        by_label, by_duration = workspace[: ended.shape[1]], workspace[: min(segments.shape[1], end)]
        if place <= deviation:
            label = choices[place]
        else:
            _weigh_labels(transition, ended, labels, end, by_label)
            label = choice_of_value(search, rank, place, deviation, score, by_label)
        if place + 1 > deviation:
            for d in range(by_duration.shape[0]):
                by_duration[d] = entered[end - 1 - d, label] + segments[end - 1 - d, d, label]
        end -= 1 + choice_of_value(search, rank, place + 1, deviation, score, by_duration)
        labels[end] = label
        place += 2


@inner
def _weigh_labels(transition: Array, ended: Array, labels: Array, end: int, ways: Array) -> None:
    """Write, for each label of a segment that ends at ``end``, the best score of a path with it: ``ways (c,)``.

    The score includes the transition to the segment that starts at ``end``, whose label is in ``labels``; there is
    none at the end of the sequence.
    """
    write(ways, ended[end])
    if end < labels.shape[0]:
        matrix = at_boundary(transition, end)
        last = matrix.shape[0] - 1
        for i in range(ways.shape[0]):
            ways[i] += matrix[min(i, last), min(labels[end], last)]
