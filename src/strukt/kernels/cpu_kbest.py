"""Search for the k best structures, each of which deviates from a better one at one choice (Lawler 1972).

The choices of a structure are ordered by place. The choices before a place determine the alternatives there, and
the later places have a best completion. Every structure but the best is generated exactly once: keep the choices
of a better structure before some place, make another choice there, and complete the rest in the best way. The next
best structure is the first candidate, and only places after its deviation generate new candidates.

A walk through a structure follows the recorded choices up to a place. At each later place it makes the best
choice, and queues the other choices as candidates (`choice_of_value`). The list of candidates is sorted by
descending score and never longer than the number of ranks left to fill.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel

A_FEW = 8
"""The largest number of choices at a place that are examined one by one."""


class Candidates(NamedTuple):
    """The candidates for the remaining ranks, of k in all.

    Attributes:
        scores: ``(k,)``, in descending order.
        entries: ``(k, 3)``: the rank of the structure that a candidate deviates from, the place of the deviation,
            and the choice there.
        waiting: ``(1,)``, the number of candidates; only so many scores and entries are set.
    """

    scores: Array
    entries: Array
    waiting: Array


@kernel
def make_candidates(k: int) -> Candidates:
    """Allocate an empty list of candidates for k ranks."""
    return Candidates(np.empty(k), np.empty((k, 3), np.int64), np.zeros(1, np.int64))


@kernel
def score_to_beat(candidates: Candidates, rank: int) -> float:
    """Return the score that a further candidate must exceed if it deviates from the structure of a rank.

    It is -inf if the list is not full, and +inf if no later rank is left to fill.
    """
    remaining = len(candidates.scores) - 1 - rank
    if candidates.waiting[0] < remaining:
        return -np.inf
    return candidates.scores[remaining - 1] if remaining > 0 else np.inf


@kernel
def offer(candidates: Candidates, rank: int, place: int, choice: int, score: float) -> None:
    """Insert a candidate that deviates from the structure of a rank, unless there are enough better ones."""
    if not score > score_to_beat(candidates, rank):
        return
    scores, entries = candidates.scores, candidates.entries
    count = min(candidates.waiting[0] + 1, len(scores) - 1 - rank)
    i = count - 1
    while i > 0 and scores[i - 1] < score:
        _move(candidates, i - 1, i)
        i -= 1
    scores[i] = score
    entries[i, 0], entries[i, 1], entries[i, 2] = rank, place, choice
    candidates.waiting[0] = count


@kernel
def offer_others(
    candidates: Candidates, rank: int, place: int, ways: Array, chosen: int, score: float
) -> None:
    """Queue all other choices of a place.

    Args:
        candidates: The list of candidates.
        rank: The rank of the structure that they deviate from.
        place: The place of the choice.
        ways: ``(choices,)``, the best score of the completion of each choice there, up to a common constant.
        chosen: The choice of the structure.
        score: The score of the structure.
    """
    least, baseline = score_to_beat(candidates, rank), np.float64(ways[chosen])
    if len(ways) > A_FEW:  # a vectorised test: often no choice is better than a full list
        better = 0
        for choice in range(len(ways)):
            better += int(score + (np.float64(ways[choice]) - baseline) > least)
        if better == int(score > least):
            return
    for choice in range(len(ways)):
        other = score + (np.float64(ways[choice]) - baseline)
        if other > least and choice != chosen:
            offer(candidates, rank, place, choice, other)
            least = score_to_beat(candidates, rank)


@inner
def _move(candidates: Candidates, i: int, j: int) -> None:
    """Move candidate i to position j entry by entry: assigning arrays takes long to compile."""
    candidates.scores[j] = candidates.scores[i]
    for column in range(3):
        candidates.entries[j, column] = candidates.entries[i, column]


@kernel
def take_candidate(candidates: Candidates) -> tuple[float, int, int, int]:
    """Remove the best candidate; return its score, -inf if there is none, and its entry: rank, place, choice."""
    count, scores, entries = candidates.waiting[0], candidates.scores, candidates.entries
    if count == 0:
        return -np.inf, 0, 0, 0
    score, rank, place, choice = scores[0], entries[0, 0], entries[0, 1], entries[0, 2]
    for i in range(1, count):
        _move(candidates, i, i - 1)
    candidates.waiting[0] = count - 1
    return score, rank, place, choice


class Search(NamedTuple):
    """Workspace for the search in one item.

    Attributes:
        candidates: The candidates that deviate from the structures so far.
        choices: ``(k, places)``, the choices of the structure of each rank so far.
    """

    candidates: Candidates
    choices: Array


@kernel
def make_search(k: int, places: int) -> Search:
    """Allocate a search without candidates; the choices are uninitialised."""
    return Search(make_candidates(k), np.empty((k, places), np.int64))


@kernel
def start(search: Search, score: float) -> None:
    """Reset the search to a single candidate: the best structure, with this score."""
    candidates = search.candidates
    candidates.scores[0], candidates.waiting[0] = score, 1
    candidates.entries[0, 0], candidates.entries[0, 1], candidates.entries[0, 2] = 0, -1, 0


@kernel
def take(search: Search, rank: int) -> tuple[float, int]:
    """Make the best candidate the structure of a rank; return its score, and the place where it deviates.

    The choices up to this place are recorded. The place is -1 for the best structure of all. The score is -inf if
    no candidate is left.
    """
    score, parent, place, choice = take_candidate(search.candidates)
    for before in range(place):
        search.choices[rank, before] = search.choices[parent, before]
    if place >= 0:
        search.choices[rank, place] = choice
    return score, place


@kernel
def choice_of_value(search: Search, rank: int, place: int, deviation: int, score: float, values: Array) -> int:
    """Return the choice at a place of the structure of a rank: recorded up to place ``deviation``, later the best.

    The best choice has the largest of ``values (choices,)``, the scores of choices with their best completions, up
    to a common constant. It is recorded, and the others are queued as candidates for later ranks. ``score`` is
    that of the structure.
    """
    if place > deviation:
        top, best = values[0], 0
        for k in range(1, len(values)):
            top = max(top, values[k])
        while best < len(values) - 1 and values[best] != top:  # two loops, the first vectorised; top may be NaN
            best += 1
        search.choices[rank, place] = best
        if rank < len(search.choices) - 1:
            offer_others(search.candidates, rank, place, values, best, score)
    return search.choices[rank, place]  # type: ignore[no-any-return]
