"""Exact samples of segmentations, drawn from the end backwards; 2.2 times faster than by the table program."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_sample import accumulate, find, uniform
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel, scratch, write
from strukt.structures.linear_chain.cpu_viterbi import rebase
from strukt.structures.semi_markov.cpu_forward import FILLED, at_boundary, pages


@kernel
def draw(
    segments: Array, transition: Array, lengths: Array, chart: Array, seeds: Array, chunks: int, labels: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Draw one sample for each of ``seeds (batch, count)``.

    The samples of an item are split into ``chunks`` parts, which threads draw independently. Items without a
    filled chart are left as they are.

    The other arrays are ``segments (batch, n, k, c)``, ``transition (g, steps, c, c)``, ``lengths (batch,)``,
    ``chart (batch, (n + 1) (2 c + 1))``, and the result ``labels (batch, count, n)``.
    """
    batch, _, k, c = segments.shape
    by_label, by_duration = scratch(c + 1, c), scratch(c, k)
    for unit in range(start, batch * chunks, step):
        b, first = unit // chunks, unit % chunks
        n = lengths[b]
        if chart[b, 0] != FILLED:
            continue
        starts, ends, scales = pages(chart[b], n, c)
        entered, ended = starts.copy(), ends.copy()
        _take_logs(entered, ended, scales)
        states, drawn = seeds[b, first::chunks].astype(np.uint64), labels[b, first::chunks]
        reached, following = np.full(len(states), n), np.full(len(states), c)
        pairs = transition[b * transition.shape[0] // batch]
        for end in range(n, 0, -1):
            _draw_ending(
                segments[b],
                pairs,
                entered,
                ended,
                end,
                states,
                by_label,
                by_duration,
                reached,
                following,
                drawn,
            )


@inner
def _take_logs(entered: Array, ended: Array, scales: Array) -> None:
    """Replace the totals of a chart by their logs, in place.

    The logs of ``entered`` include the scales, so that positions can be compared; those of ``ended`` do not. No
    segment ends at position 0: its entries of ``ended`` become -inf.
    """
    for t in range(entered.shape[0]):
        for j in range(entered.shape[1]):
            entered[t, j] = np.log(entered[t, j]) + scales[t] if entered[t, j] > 0.0 else -np.inf
            ended[t, j] = np.log(ended[t, j]) if ended[t, j] > 0.0 and t > 0 else -np.inf


@inner
def _draw_ending(
    segments: Array, transition: Array, entered: Array, ended: Array, end: int, states: Array, by_label: Array,
    by_duration: Array, reached: Array, following: Array, labels: Array,
) -> None:  # fmt: skip
    """Draw the segment that ends at ``end``, for all samples whose ``reached`` is ``end``.

    ``reached`` is then the start of the segment, and ``following`` its label. Samples share the tables of labels,
    one for each following label (the last for no following segment), and the tables of durations.
    """
    c, durations = ended.shape[1], by_duration.shape[1]
    labels_made, durations_made = np.zeros(c + 1, np.bool_), np.zeros(c, np.bool_)
    for q in range(reached.shape[0]):
        if reached[q] == end:
            onward, state = following[q], states[q : q + 1]
            if not labels_made[onward]:
                labels_made[onward] = True
                _weigh_labels(ended[end], transition, end, onward, by_label[onward])
            label = find(by_label[onward], 0, c, uniform(state))
            if not durations_made[label]:
                durations_made[label] = True
                _weigh_durations(segments, entered, end, label, by_duration[label])
            reached[q] = end - 1 - find(by_duration[label], 0, durations, uniform(state))
            following[q] = label
            labels[q, reached[q]] = label


@inner
def _weigh_labels(ended: Array, transition: Array, end: int, following: int, table: Array) -> None:
    """Write the cumulative weights of the labels of a segment that ends at ``end`` to ``table (c,)``.

    They depend on the label ``following``; c means that no segment follows. ``ended (c,)`` is from `_take_logs`.
    """
    c = table.shape[0]
    write(table, ended)
    if following < c:
        matrix = at_boundary(transition, end)
        last = matrix.shape[0] - 1
        for i in range(c):
            table[i] += matrix[min(i, last), min(following, last)]
    _tabulate(table)


@inner
def _weigh_durations(segments: Array, entered: Array, end: int, label: int, table: Array) -> None:
    """Write the cumulative weights of the durations of a segment of ``label`` that ends at ``end``: ``(k,)``."""
    table[:] = -np.inf
    for d in range(min(table.shape[0], end)):
        table[d] = entered[end - 1 - d, label] + segments[end - 1 - d, d, label]
    _tabulate(table)


@inner
def _tabulate(logs: Array) -> None:
    """Replace log-weights by cumulative weights, in place."""
    rebase(logs)
    for i in range(logs.shape[0]):
        logs[i] = exp(logs[i])
    accumulate(logs)
