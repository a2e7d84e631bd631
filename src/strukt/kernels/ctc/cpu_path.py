"""One labelling of the frames: the best, by a forward pass over scores, or samples from a chart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.extended import at_rank, drawn
from strukt.kernels.jit import kernel, scratch

Array = npt.NDArray[Any]


@kernel
def _may_skip(states: Array, k: int) -> bool:
    """Whether the k-th label may follow the one before without a blank."""
    return k >= 2 and states[2 * k - 1] != states[2 * k - 3]


@kernel
def _best_ways(scores: Array, states: Array, values: Array, following: Array, ways: Array) -> None:
    """The best scores of each place after one more frame, and by which way: 0 stays, 1 steps, 2 skips.

    The rows are of blanks and of labels. A blank is stepped to from the label before it.
    """
    for k in range(values.shape[1]):
        stay, step = values[0, k], values[1, k]
        following[0, k] = max(stay, step) + scores[states[0]]
        ways[0, k] = 1 if step > stay else 0
    following[1, 0] = -np.inf
    for k in range(1, values.shape[1]):
        stay, step = values[1, k], values[0, k - 1]
        skip = values[1, k - 1] if _may_skip(states, k) else -np.inf
        following[1, k] = max(max(stay, step), skip) + scores[states[2 * k - 1]]
        ways[1, k] = 2 if skip > max(stay, step) else (1 if step > stay else 0)


@kernel
def _before(in_label: int, k: int, way: int) -> tuple[int, int]:
    """The place from which one came by a way: whether in a label, and which."""
    if in_label == 0:
        return way, k
    if way == 0:
        return 1, k
    return way - 1, k - 1


@kernel
def best(
    logits: Array, lengths: Array, states: Array, target_lengths: Array, labels: Array, score: Array, start: int,
    step: int,
) -> None:  # fmt: skip
    """The best labels of each item and their score."""
    for b in range(start, logits.shape[0], step):
        n, places = lengths[b], target_lengths[b] + 1
        values, following = scratch(2, places), scratch(2, places)
        ways = np.empty((n, 2, places), np.int8)
        values[:, :] = -np.inf
        values[0, 0] = 0.0
        for t in range(n):
            _best_ways(logits[b, t], states[b], values, following, ways[t])
            values, following = following, values
        k = places - 1
        in_label = 1 if values[1, k] > values[0, k] else 0
        score[b] = values[in_label, k]
        if score[b] > -np.inf:
            for t in range(n - 1, -1, -1):
                labels[b, t] = states[b, 2 * k - in_label]
                in_label, k = _before(in_label, k, ways[t, in_label, k])


@kernel
def _drawn_way(row: Array, states: Array, in_label: int, k: int, uniform: float) -> int:
    """A way into a place, drawn in proportion to the weights of the row of the chart before.

    The label of place 0, which has weight zero, stands for ways that there are not.
    """
    if in_label == 0:
        options = ((0, k), (1, k), (1, 0))
    else:
        options = ((1, k), (0, k - 1), (1, k - 1 if _may_skip(states, k) else 0))
    parts, top = np.empty(3), -np.inf
    for kind, place in options:
        top = max(top, row[2 * kind + 1, place])
    for way in range(3):
        kind, place = options[way]
        parts[way] = at_rank(row[2 * kind, place], row[2 * kind + 1, place], top)
    return drawn(parts, uniform)


@kernel
def sample(
    logits: Array, lengths: Array, states: Array, target_lengths: Array, chart: Array, uniform: Array,
    labels: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Labels from the last frame to the first, each place drawn from those before it."""
    for b in range(start, logits.shape[0], step):
        n, places = lengths[b], target_lengths[b] + 1
        last = chart[b, n, :, places - 1]
        if n == 0 or max(last[1], last[3]) == -np.inf:
            continue
        for q in range(uniform.shape[1]):
            k = places - 1
            # The end is like a blank of one more frame: entered from the last blank or the last label.
            in_label = _drawn_way(chart[b, n], states[b], 0, k, uniform[b, q, n])
            for t in range(n - 1, -1, -1):
                labels[b, q, t] = states[b, 2 * k - in_label]
                way = _drawn_way(chart[b, t], states[b], in_label, k, uniform[b, q, t])
                in_label, k = _before(in_label, k, way)
