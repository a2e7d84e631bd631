"""The k best subsets of bounded size, each of which deviates from a better subset at one choice (Lawler 1972).

The choices of a subset are its size, and then for each item, from the last to the first, whether it is taken. Row
t of the maxima holds the best score for each count of items taken among the first t.

The table program of `polynomial_products`, limited to the largest size, takes 1.4 times as long for the 8 best (16
x 100 items, 10 of them), 17 times if n is new, and as long for 10 of 1,000 items.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, choice_of_value, make_search, start, take
from strukt.kernels.jit import inner, kernel


@kernel
def kbest(
    scores: Array, omitted: Array, lengths: Array, low: Array, high: Array, most: int,
    events: Array, best_scores: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the k best ``events (batch, k, n)``, or all if there are fewer, and ``best_scores (batch, k)``.

    Missing scores are -inf; missing events and padding are not written. The other arrays are
    ``scores (batch, n)``, ``omitted (g, n)``, and ``lengths``, ``low`` and ``high (batch,)``; ``most`` is at least
    the largest size.
    """
    (batch, size), k = scores.shape, best_scores.shape[1]
    search = make_search(k, size + 1)
    rows = np.empty((size + 1, most + 2))
    group = batch // omitted.shape[0]
    for b in range(start, batch, step):
        n = lengths[b]
        best_scores[b] = -np.inf
        _fill(scores[b], omitted[b // group], n, rows)
        last = min(high[b], n)
        first = max(low[b], 0)
        if first <= last:
            sizes = rows[n, first + 1 : last + 2]
            _search(scores[b], omitted[b // group], n, sizes, first, rows, search, events[b], best_scores[b])


@inner
def _fill(scores: Array, omitted: Array, n: int, rows: Array) -> None:
    """Write the best score of c items among the first t to row t, column c + 1; column 0 is -inf."""
    rows[0] = -np.inf
    rows[0, 1] = 0.0
    for t in range(1, n + 1):
        rows[t, 0] = -np.inf
        for c in range(1, rows.shape[1]):
            rows[t, c] = max(rows[t - 1, c] + omitted[t - 1], rows[t - 1, c - 1] + scores[t - 1])


@inner
def _search(
    scores: Array, omitted: Array, n: int, sizes: Array, smallest: int, rows: Array, search: Search,
    events: Array, best_scores: Array,
) -> None:  # fmt: skip
    """Write the k best subsets of one item of the batch, ``events (k, n)``, and ``best_scores (k,)``.

    ``sizes`` is the best score of each size, from the size ``smallest`` on.
    """
    start(search, sizes.max())
    for rank in range(len(best_scores)):
        score, deviation = take(search, rank)
        if score == -np.inf:
            return
        best_scores[rank] = score
        size = smallest + choice_of_value(search, rank, 0, deviation, score, sizes)
        _complete(scores, omitted, n, size, rows, search, rank, deviation, score, events[rank])


@inner
def _complete(
    scores: Array, omitted: Array, n: int, size: int, rows: Array, search: Search, rank: int, deviation: int,
    score: float, event: Array,
) -> None:  # fmt: skip
    """Write the subset of a rank, ``event (n,)``: the known choices up to ``deviation``, then the best ones.

    Queue the alternatives to the latter.
    """
    both = np.empty(2)
    for t in range(n, 0, -1):
        both[0] = rows[t - 1, size + 1] + omitted[t - 1]
        both[1] = rows[t - 1, size] + scores[t - 1]
        event[t - 1] = choice_of_value(search, rank, n + 1 - t, deviation, score, both)
        size -= event[t - 1]
