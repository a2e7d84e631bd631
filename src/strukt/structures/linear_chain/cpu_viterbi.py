"""Viterbi's algorithm for chains, and the k best sequences, by a forward pass over maxima.

The scores at a position are kept relative to the best of them, so that long chains lose no precision.
Back-pointers are not stored: tracing back recomputes each predecessor in O(c). The table program takes 3.7 times
as long for the best sequence, and twice as long for the 8 best.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, choice_of_value, make_search, start, take
from strukt.kernels.jit import inner, kernel, scratch, write


@kernel
def viterbi(
    unary: Array, transition: Array, lengths: Array, tags: Array, score: Array, start: int, step: int
) -> None:
    """Write the best ``tags (batch, n)`` of each item and their ``score (batch,)``.

    Scores are compared in the type of ``unary``. Tags of an item without a sequence are left as they are.

    The other arrays are ``unary (batch, n, c)``, ``transition (g, steps, c, c)`` and ``lengths (batch,)``.
    """
    batch, n, c = unary.shape
    best, entered = np.empty((n, c), unary.dtype), np.empty(c, unary.dtype)
    for b in range(start, batch, step):
        scores = transition[b * transition.shape[0] // batch]
        score[b] = fill(unary[b, : lengths[b]], scores, best, entered)
        if score[b] > -np.inf and lengths[b] > 0:
            tags[b, lengths[b] - 1] = np.argmax(best[lengths[b] - 1])
            complete(best, scores, entered, tags[b, : lengths[b]])


@inner
def fill(unary: Array, transition: Array, best: Array, entered: Array) -> float:
    """Write the score of the best path to each tag, ``best (n, c)``, and return the best score of a sequence.

    The scores of a position are relative to the best of them. ``transition`` is ``(steps, c, c)``; ``entered
    (c,)`` is workspace.
    """
    total = 0.0
    entered[:] = 0.0
    for t in range(unary.shape[0]):
        if t > 0:
            enter_max(best[t - 1], transition[min(t, transition.shape[0]) - 1], entered)
        for j in range(entered.shape[0]):
            best[t, j] = entered[j] + unary[t, j]
        total += rebase(best[t])
    return total


@inner
def complete(best: Array, transition: Array, entered: Array, tags: Array) -> None:
    """Trace the best path back from the last of ``tags``, which is already set; ``entered (c,)`` is workspace."""
    c = best.shape[1]
    for t in range(tags.shape[0] - 2, -1, -1):
        s, following = min(t, transition.shape[0] - 1), tags[t + 1]
        top = best[t, 0] + transition[s, 0, following]
        for i in range(c):
            entered[i] = best[t, i] + transition[s, i, following]
            top = max(top, entered[i])
        i = 0
        while i < c - 1 and entered[i] != top:
            i += 1
        tags[t] = i


@kernel
def kbest(
    unary: Array, transition: Array, lengths: Array, tags: Array, scores: Array, start: int, step: int
) -> None:
    """Write the k best ``tags (batch, k, n)`` and their ``scores (batch, k)``; computed in double precision.

    The other arrays are those of `viterbi`.
    """
    batch, n, c = unary.shape
    best, ways = scratch(n, c), np.empty(c)
    search = make_search(scores.shape[1], n)
    for b in range(start, batch, step):
        length, pairs = lengths[b], transition[b * transition.shape[0] // batch]
        score = fill(unary[b, :length], pairs, best, ways)
        _list(best, pairs, ways, search, score, tags[b, :, :length], scores[b])


@inner
def _list(
    best: Array, transition: Array, ways: Array, search: Search, score: float, tags: Array, scores: Array
) -> None:
    """Write the k best sequences, best first, to ``tags (k, length)`` and ``scores (k,)``.

    ``best`` is written by `fill`, and ``score`` is the score that it returned. If there are fewer than k
    sequences, -inf is written to ``scores`` after them, and nothing more.
    """
    start(search, score)
    for rank in range(scores.shape[0]):
        score, deviation = take(search, rank)
        scores[rank] = score
        if score == -np.inf:
            return
        _follow(best, transition, ways, search, rank, deviation, score, tags[rank])


@inner
def _follow(
    best: Array, transition: Array, ways: Array, search: Search, rank: int, deviation: int, score: float,
    tags: Array,
) -> None:  # fmt: skip
    """Write the sequence of a rank to ``tags (length,)``; ``ways (c,)`` is workspace.

    Choice 0 is the last tag, choice 1 the tag before it, and so on. Choices up to ``deviation`` are fixed by the
    search; later ones are the best completion.
    """
    length, choices = tags.shape[0], search.choices[rank]
    for place in range(deviation + 1):
        tags[length - 1 - place] = choices[place]
    for place in range(deviation + 1, length):
        t = length - 1 - place
        write(ways, best[t])
        if place > 0:
            s, following = min(t, transition.shape[0] - 1), tags[t + 1]
            for i in range(ways.shape[0]):
                ways[i] += transition[s, i, following]
        tags[t] = choice_of_value(search, rank, place, deviation, score, ways)


@inner
def enter_max(alpha: Array, transition: Array, out: Array) -> None:
    """Write ``out[j] = max_i(alpha[i] + transition[i, j])``."""
    c = out.shape[0]
    out[:] = -np.inf
    i = 0
    while i + 7 < c:  # eight rows at a time save loads and stores of ``out``
        for j in range(c):
            p = max(alpha[i] + transition[i, j], alpha[i + 1] + transition[i + 1, j])
            q = max(alpha[i + 2] + transition[i + 2, j], alpha[i + 3] + transition[i + 3, j])
            r = max(alpha[i + 4] + transition[i + 4, j], alpha[i + 5] + transition[i + 5, j])
            s = max(alpha[i + 6] + transition[i + 6, j], alpha[i + 7] + transition[i + 7, j])
            out[j] = max(out[j], max(max(p, q), max(r, s)))
        i += 8
    while i < c:
        for j in range(c):
            out[j] = max(out[j], alpha[i] + transition[i, j])
        i += 1


@inner
def rebase(scores: Array) -> float:
    """Subtract the largest score from all scores, unless it is -inf; return it."""
    top = -np.inf
    for j in range(scores.shape[0]):
        top = max(top, scores[j])
    if top > -np.inf:
        for j in range(scores.shape[0]):
            scores[j] -= top
    return top
