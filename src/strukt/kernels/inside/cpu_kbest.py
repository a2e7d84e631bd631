"""The k best trees over spans: each but the best deviates from a better one at one place (Lawler 1972).

What a span carries is made of features, each with one of some values: a label is one feature, a code of bits has
one of two values for each bit. The places of a tree are, for each of its spans before those inside it, the
features and then where it is split. So alternatives are not multiplied, but added.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_search import Search, choice_of_term, choice_of_value, make_search, start, take
from strukt.kernels.cpu_semiring import MAX, Array
from strukt.kernels.inside.cpu_chart import fill, log_total
from strukt.kernels.jit import inner, kernel, leading


@kernel
def kbest(values: Array, lengths: Array, labels: Array, scores: Array, start: int, step: int) -> None:
    """The labels of the spans of the k best trees, where there are so many, and their scores.

    ``values`` are the scores ``(batch, n + 1, n + 1, features, values)``.
    """
    (batch, k), size, features = scores.shape, values.shape[1], values.shape[3]
    room = np.empty((2, size, size))
    search = make_search(k, 2 * size * (features + 1))
    for b in range(start, batch, step):
        n = lengths[b]
        scores[b] = -np.inf
        if n == 0:
            scores[b, 0] = 0.0
            continue
        chart = leading(room, (2, n + 1, n + 1))
        _load(values[b], chart[1])
        fill(MAX, 0.0, chart)
        if log_total(chart) > -np.inf:
            _search(values[b], chart, search, labels[b], scores[b])


@kernel
def _load(values: Array, logs: Array) -> None:
    """What each span contributes itself at best, above the diagonal."""
    n = logs.shape[0] - 1
    for i in range(n):
        for j in range(i + 1, n + 1):
            logs[i, j] = 0.0
            for feature in range(values.shape[2]):
                top = values[i, j, feature, 0]
                for value in range(1, values.shape[3]):
                    top = max(top, values[i, j, feature, value])
                logs[i, j] += np.float64(top)


@inner
def _search(values: Array, chart: Array, search: Search, labels: Array, scores: Array) -> None:
    scores[0] = log_total(chart)
    start(search)
    _complete(values, chart[0], search, 0, -1, scores[0], labels[0])
    for rank in range(1, len(scores)):
        scores[rank], given = take(search, rank)
        if scores[rank] == -np.inf:
            return
        _complete(values, chart[0], search, rank, given, scores[rank], labels[rank])


@inner
def _complete(
    values: Array, inside: Array, search: Search, rank: int, given: int, score: float, labels: Array
) -> None:
    """Follow the choices up to the place ``given``, make the best ones after it, and offer the others there."""
    n, features = inside.shape[0] - 1, values.shape[2]
    stack = np.empty((n + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    depth, place = 1, 0
    while depth > 0:
        depth -= 1
        i, j = stack[depth]
        label, unit = 0, 1
        for feature in range(features):
            label += unit * choice_of_value(search, rank, place, given, score, values[i, j, feature])
            unit *= values.shape[3]
            place += 1
        labels[i, j] = label
        if j > i + 1:
            split = choice_of_term(search, rank, place, given, score, inside, i, inside, j, i + 1, j, 0)
            stack[depth, 0], stack[depth, 1] = i, split
            stack[depth + 1, 0], stack[depth + 1, 1] = split, j
            depth += 2
            place += 1
