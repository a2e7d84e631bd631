"""The best labelling of the frames and the k best, by a forward pass over scores.

A labelling is chosen from the last frame to the first by the ways into its states: 0 stays, 1 comes from the state
before, 2 from the one before that. The end is like the last blank of one more frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.cpu_candidates import make_candidates, offer_others, take
from strukt.kernels.jit import inner, kernel, scratch

Array = npt.NDArray[Any]


@inner
def may_skip(states: Array, s: int) -> bool:
    """Whether a state may follow the one two before it: a label other than that."""
    return s % 2 == 1 and s > 1 and states[s] != states[s - 2]


@kernel
def best(
    logits: Array, lengths: Array, states: Array, target_lengths: Array, labels: Array, score: Array, start: int,
    step: int,
) -> None:  # fmt: skip
    """The best labels of each item and their score."""
    for b in range(start, logits.shape[0], step):
        n, size = lengths[b], 2 * target_lengths[b] + 1
        values, ways, path = scratch(n + 1, size), np.empty(3), np.empty(n + 2, np.int64)
        _fill(logits[b, :n], states[b], values)
        path[n + 1] = size - 1
        _ways_into(values[n], states[b], size - 1, ways)
        score[b] = ways.max()
        if score[b] > -np.inf:
            _complete(values, states[b], ways, path)
            _load_labels(states[b], path, labels[b])


@inner
def _fill(logits: Array, states: Array, values: Array) -> None:
    """The best scores of each state, before the first frame and after each."""
    size = values.shape[1]
    skips = np.empty(size)
    for s in range(size):
        skips[s] = 0.0 if may_skip(states, s) else -np.inf
    values[0] = -np.inf
    values[0, 0] = 0.0
    for t in range(logits.shape[0]):
        before, after = values[t], values[t + 1]
        for s in range(size):
            after[s] = logits[t, states[s]]
        after[0] += before[0]
        if size > 1:
            after[1] += max(before[1], before[0])
        for s in range(2, size):
            after[s] += max(max(before[s], before[s - 1]), before[s - 2] + skips[s])


@inner
def _ways_into(values: Array, states: Array, s: int, ways: Array) -> None:
    """The best score of each way into a state."""
    ways[0] = values[s]
    ways[1] = values[s - 1] if s > 0 else -np.inf
    ways[2] = values[s - 2] if may_skip(states, s) else -np.inf


@inner
def _complete(values: Array, states: Array, ways: Array, path: Array) -> None:
    """Fill in the best states before the last of the path, which is given; ``ways`` is room for three."""
    for t in range(path.shape[0] - 2, -1, -1):
        _ways_into(values[t], states, path[t + 1], ways)
        path[t] = path[t + 1] - np.argmax(ways)


@inner
def _load_labels(states: Array, path: Array, labels: Array) -> None:
    for t in range(path.shape[0] - 2):
        labels[t] = states[path[t + 1]]


@kernel
def kbest(
    logits: Array, lengths: Array, states: Array, target_lengths: Array, labels: Array, scores: Array, start: int,
    step: int,
) -> None:  # fmt: skip
    """The k best labellings ``(batch, k, n)`` of each item and their scores ``(batch, k)``."""
    k = labels.shape[1]
    for b in range(start, logits.shape[0], step):
        n, size = lengths[b], 2 * target_lengths[b] + 1
        values, ways, paths = scratch(n + 1, size), np.empty(3), np.empty((k, n + 2), np.int64)
        _fill(logits[b, :n], states[b], values)
        _ways_into(values[n], states[b], size - 1, ways)
        scores[b, 0] = ways.max()
        if scores[b, 0] > -np.inf:
            paths[:, n + 1] = size - 1
            found = _list(values, states[b], ways, paths, scores[b])
            for rank in range(found):
                _load_labels(states[b], paths[rank], labels[b, rank])


@inner
def _list(values: Array, states: Array, ways: Array, paths: Array, scores: Array) -> int:
    """The best paths through the states in order, each a deviation from one before it; gives their number."""
    k = len(paths)
    candidates, place = make_candidates(k), values.shape[0]
    _complete(values, states, ways, paths[0])
    for rank in range(1, k):
        for t in range(place):
            following = paths[rank - 1, t + 1]
            _ways_into(values[t], states, following, ways)
            offer_others(candidates, rank - 1, t, ways, following - paths[rank - 1, t], scores[rank - 1])
        scores[rank], parent, place, way = take(candidates)
        if scores[rank] == -np.inf:
            return rank
        paths[rank, place + 1 :] = paths[parent, place + 1 :]
        paths[rank, place] = paths[rank, place + 1] - way
        _complete(values, states, ways, paths[rank, : place + 1])
    return k
