"""Viterbi's algorithm for CTC: the k best labellings, by a forward pass and a search over predecessors of states.

A labelling is traced back from the last frame by the choice of each state's predecessor: 0 is the same state, 1
the state before it, 2 the state before that. The end acts as the last blank of one more frame. This is more than
twice as fast as the table program.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, choice_of_value, make_search, start, take
from strukt.kernels.jit import inner, kernel, scratch


@inner
def may_skip(states: Array, s: int) -> bool:
    """Return True if state s may follow state s - 2: if both are labels, and they differ."""
    return s % 2 == 1 and s > 1 and states[s] != states[s - 2]


@kernel
def kbest(
    logits: Array, lengths: Array, states: Array, target_lengths: Array, labels: Array, scores: Array, start: int,
    step: int,
) -> None:  # fmt: skip
    """Write the k best labellings, ``labels (batch, k, n)``, of each item and their ``scores (batch, k)``.

    The other arrays are ``logits (batch, n, c)``, ``lengths`` and ``target_lengths (batch,)``, and ``states
    (batch, 2 m + 1)``.
    """
    search = make_search(scores.shape[1], logits.shape[1])
    for b in range(start, logits.shape[0], step):
        n, size = lengths[b], 2 * target_lengths[b] + 1
        values = scratch(n + 1, size)
        _fill(logits[b, :n], states[b], values)
        _list(values, states[b], search, labels[b], scores[b])


@inner
def _fill(logits: Array, states: Array, values: Array) -> None:
    """Write the best score of a path to each state, before the first frame and after each frame.

    Arrays: ``logits (n, c)``; ``states``, the label of each state; ``values (n + 1, states)``, the result.
    """
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
    """Write the best score of a path to each of the three predecessors of state s, ``ways (3,)``; -inf for none.

    ``values`` holds the best scores at the frame of the predecessors.
    """
    ways[0] = values[s]
    ways[1] = values[s - 1] if s > 0 else -np.inf
    ways[2] = values[s - 2] if may_skip(states, s) else -np.inf


@inner
def _list(values: Array, states: Array, search: Search, labels: Array, scores: Array) -> None:
    """Write the k best labellings, best first, to ``labels (k, n)`` and ``scores (k,)``.

    If there are fewer, -inf is written to ``scores`` after them, and nothing more.
    """
    ways = np.empty(3)
    _ways_into(values[-1], states, values.shape[1] - 1, ways)
    start(search, ways.max())
    for rank in range(scores.shape[0]):
        score, deviation = take(search, rank)
        scores[rank] = score
        if score == -np.inf:
            return
        _follow(values, states, ways, search, rank, deviation, score, labels[rank])


@inner
def _follow(
    values: Array, states: Array, ways: Array, search: Search, rank: int, deviation: int, score: float,
    labels: Array,
) -> None:  # fmt: skip
    """Write the labelling of a rank, traced back from the end.

    Choices up to ``deviation`` are fixed by the search; later ones are the best completion.
    """
    s, last, choices = values.shape[1] - 1, values.shape[0] - 2, search.choices[rank]
    for place in range(last + 1):
        if place <= deviation:
            s -= choices[place]
        else:
            _ways_into(values[last + 1 - place], states, s, ways)
            s -= choice_of_value(search, rank, place, deviation, score, ways)
        labels[last - place] = states[s]
