"""Merging clusters of words in pairs, at the least cost in average mutual information (Brown et al. 1992)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from strukt.kernels.jit import inner, kernel

Counts = NDArray[np.float64]
Indices = NDArray[np.int64]


@kernel
def slots_of(
    order: Indices,
    after_starts: Indices,
    after_words: Indices,
    after_counts: Counts,
    before_starts: Indices,
    before_words: Indices,
    before_counts: Counts,
    left: Counts,
    right: Counts,
    clusters: int,
) -> Indices:
    """Return the cluster of each word as the number of a slot, ``(v,)``; -1 for words that are not in `order`.

    There are c + 1 slots, from 0 to c, of which one stays empty.

    Let n_ab be the number of bigrams whose first word is in cluster a and whose second word is in b, l_a the
    number of all bigrams whose first word is in a, r_b the number of all whose second word is in b, and N the
    number of all bigrams. Average mutual information is sum_ab n_ab/N log(n_ab N / (l_a r_b)). N times the loss of
    merging clusters a < b has two parts. The terms h(x) = x log x of the counts n are kept in ``table[a, b]``;
    `_cheapest` adds the terms of l and r, such as (sum_b n_ab) log l_a.

    Args:
        order: ``(u,)``, the words in the order of insertion.
        after_starts: ``(v + 1,)``, where the successors of each word begin in ``after_words`` and its counts.
        after_words: ``(p,)``, the second words of the p distinct bigrams, grouped by first word.
        after_counts: ``(p,)``, the numbers of occurrences of these bigrams.
        before_starts: ``(v + 1,)``, where the predecessors of each word begin in ``before_words``.
        before_words: ``(p,)``, the first words of the bigrams, grouped by second word.
        before_counts: ``(p,)``, the numbers of occurrences of these bigrams.
        left: ``(v,)``, how often each word is the first of a bigram.
        right: ``(v,)``, how often each word is the second of a bigram.
        clusters: Number of clusters, c.
    """
    slots = np.full(len(left), -1, dtype=np.int64)
    n = np.zeros((clusters + 1, clusters + 1))
    lefts, rights = np.zeros(clusters + 1), np.zeros(clusters + 1)
    table = np.zeros((clusters + 1, clusters + 1))
    used = np.zeros(clusters + 1, dtype=np.bool_)
    free = 0
    for place in range(len(order)):
        word = order[place]
        slots[word], used[free] = free, True
        lefts[free], rights[free] = left[word], right[word]
        for at in range(after_starts[word], after_starts[word + 1]):
            other = slots[after_words[at]]
            if other >= 0:
                n[free, other] += after_counts[at]
        for at in range(before_starts[word], before_starts[word + 1]):
            other = slots[before_words[at]]
            if other >= 0 and before_words[at] != word:
                n[other, free] += before_counts[at]
        _change(table, n, free, 1.0)
        _refresh(table, n, used, free)
        if place < clusters:
            free = place + 1
            continue
        kept, free = _cheapest(table, n, used, lefts, rights)
        _change(table, n, kept, -1.0)
        _change(table, n, free, -1.0)
        n[kept] += n[free]
        n[:, kept] += n[:, free]
        n[free], n[:, free] = 0.0, 0.0
        lefts[kept] += lefts[free]
        rights[kept] += rights[free]
        used[free] = False
        _change(table, n, kept, 1.0)
        _refresh(table, n, used, kept)
        for index in range(place + 1):
            if slots[order[index]] == free:
                slots[order[index]] = kept
    return slots


@inner
def _change(table: Counts, n: Counts, k: int, sign: float) -> None:
    """Add the contribution of cluster k, times `sign`, to the cost of merging each pair of other clusters."""
    _change_beside(table, n[:, k], k, sign)
    _change_beside(table, n[k], k, sign)


@inner
def _change_beside(table: Counts, pairs: Counts, k: int, sign: float) -> None:
    """Do what `_change` does, for bigrams in one direction; ``pairs[a]`` is the number of those of a and k."""
    for a in range(len(pairs)):
        if pairs[a] > 0 and a != k:
            for b in range(a + 1, len(pairs)):
                if pairs[b] > 0 and b != k:
                    table[a, b] += sign * _joined(pairs[a], pairs[b])


@inner
def _refresh(table: Counts, n: Counts, used: NDArray[np.bool_], k: int) -> None:
    """Recompute the entries of the table for merging cluster k with each other cluster."""
    for other in range(len(n)):
        if used[other] and other != k:
            a, b = min(k, other), max(k, other)
            whole = n[a, a] + n[a, b] + n[b, a] + n[b, b]
            cost = _h(n[a, a]) + _h(n[a, b]) + _h(n[b, a]) + _h(n[b, b]) - _h(whole)
            for third in range(len(n)):
                if third != a and third != b:
                    cost += _joined(n[a, third], n[b, third]) + _joined(n[third, a], n[third, b])
            table[a, b] = cost


@inner
def _cheapest(
    table: Counts, n: Counts, used: NDArray[np.bool_], lefts: Counts, rights: Counts
) -> tuple[int, int]:
    """Return the two clusters whose merging loses the least average mutual information, in ascending order."""
    rows, columns = n.sum(1), n.sum(0)
    alone = rows * np.log(np.maximum(lefts, 1.0)) + columns * np.log(np.maximum(rights, 1.0))
    best, first, second = np.inf, 0, 0
    for a in range(len(n)):
        for b in range(a + 1, len(n)):
            if used[a] and used[b]:
                cost = table[a, b] - alone[a] - alone[b]
                cost += (rows[a] + rows[b]) * np.log(max(lefts[a] + lefts[b], 1.0))
                cost += (columns[a] + columns[b]) * np.log(max(rights[a] + rights[b], 1.0))
                if cost < best:
                    best, first, second = cost, a, b
    return first, second


@inner
def _joined(x: float, y: float) -> float:
    """Return h(x) + h(y) - h(x + y), the cost of adding two counts; it is 0 if one of them is 0."""
    return _h(x) + _h(y) - _h(x + y) if x > 0 and y > 0 else 0.0


@inner
def _h(x: float) -> float:
    """Return x log x; 0 if x is 0."""
    return x * np.log(x) if x > 0 else 0.0
