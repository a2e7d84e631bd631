"""The best sequence of a chain and the k best, by a forward pass over maxima.

Scores of a step are kept relative to the best of the step, so that long chains lose no precision. Back-pointers
are not stored: the way back finds each predecessor again in O(c).
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_candidates import Candidates, make_candidates, offer_others, take
from strukt.kernels.jit import inner, kernel, scratch
from strukt.structures.linear_chain.cpu_log import Array, enter_max, rebase


@kernel
def viterbi(
    unary: Array, transition: Array, lengths: Array, tags: Array, score: Array, start: int, step: int
) -> None:
    """The best tags of each item and their score, in the type of the scores."""
    batch, n, c = unary.shape
    best, entered = np.empty((n, c), unary.dtype), np.empty(c, unary.dtype)
    for b in range(start, batch, step):
        scores = transition[b * transition.shape[0] // batch]
        score[b] = fill(unary[b, : lengths[b]], scores, best, entered)
        if score[b] > -np.inf and lengths[b] > 0:
            tags[b, lengths[b] - 1] = np.argmax(best[lengths[b] - 1])
            complete(best, scores, entered, tags[b, : lengths[b]])


@kernel
def fill(unary: Array, transition: Array, best: Array, entered: Array) -> float:
    """The best way to each tag, relative to the best of the step; gives the best score of all."""
    total = 0.0
    entered[:] = 0.0
    for t in range(unary.shape[0]):
        if t > 0:
            enter_max(best[t - 1], transition[min(t, transition.shape[0]) - 1], entered)
        for j in range(entered.shape[0]):
            best[t, j] = entered[j] + unary[t, j]
        total += rebase(best[t])
    return total


@kernel
def complete(best: Array, transition: Array, entered: Array, tags: Array) -> None:
    """Walk back from the last of the tags, which is given; ``entered`` is room for the ways into one tag."""
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
    """The k best tags of each item ``(batch, k, n)`` and their scores ``(batch, k)``, in double precision."""
    batch, n, c = unary.shape
    best, entered = scratch(n, c), np.empty(c)
    for b in range(start, batch, step):
        length, pairs = lengths[b], transition[b * transition.shape[0] // batch]
        scores[b, 0] = fill(unary[b, :length], pairs, best, entered)
        if scores[b, 0] > -np.inf and length > 0:
            _list(best[:length], pairs, entered, tags[b, :, :length], scores[b])


@inner
def _list(best: Array, transition: Array, entered: Array, tags: Array, scores: Array) -> None:
    """The best sequences in order, each a deviation from one before it; tags are chosen from the last on."""
    k, length = tags.shape
    candidates, place = make_candidates(k), length
    tags[0, length - 1] = np.argmax(best[length - 1])
    complete(best, transition, entered, tags[0])
    for rank in range(1, k):
        _offer_deviations(best, transition, entered, tags, scores, rank - 1, place, candidates)
        scores[rank], parent, place, choice = take(candidates)
        if scores[rank] == -np.inf:
            return
        tags[rank, place + 1 :] = tags[parent, place + 1 :]
        tags[rank, place] = choice
        complete(best, transition, entered, tags[rank, : place + 1])


@inner
def _offer_deviations(
    best: Array, transition: Array, ways: Array, tags: Array, scores: Array, rank: int, place: int,
    candidates: Candidates,
) -> None:  # fmt: skip
    """Offer every other tag at the positions before ``place`` of the sequence of a rank."""
    for t in range(place):
        ways[:] = best[t]
        if t < tags.shape[1] - 1:
            s, following = min(t, transition.shape[0] - 1), tags[rank, t + 1]
            for i in range(ways.shape[0]):
                ways[i] += transition[s, i, following]
        offer_others(candidates, rank, t, ways, tags[rank, t], scores[rank])
