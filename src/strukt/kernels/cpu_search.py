"""Search for the k best structures, whose choices stand in an order: what the kernels share around their walks.

A walk through a structure follows the choices that it is given, up to a place, and makes the best one at each
place after it, where it offers the others as candidates (see `strukt.kernels.cpu_candidates`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.cpu_candidates import Array, drop_first, offer
from strukt.kernels.cpu_semiring import best_term
from strukt.kernels.jit import kernel


class Search(NamedTuple):
    """Memory for the search in one item.

    Attributes:
        scores: ``(k,)``, those of the candidates.
        entries: ``(k, 3)``, where they deviate.
        choices: ``(k, places)``, the choices in the structures found.
        waiting: ``(1,)``, the number of candidates.
    """

    scores: Array
    entries: Array
    choices: Array
    waiting: Array


@kernel
def make_search(k: int, places: int) -> Search:
    """Without candidates; all else is uninitialised."""
    entries, choices = np.empty((k, 3), np.int64), np.empty((k, places), np.int64)
    return Search(np.empty(k), entries, choices, np.zeros(1, np.int64))


@kernel
def consider(search: Search, rank: int, place: int, choice: int, score: float) -> None:
    """A candidate that deviates from the structure of a rank."""
    wanted = search.scores[: len(search.scores) - 1 - rank]
    search.waiting[0] = offer(wanted, search.entries, search.waiting[0], score, rank, place, choice)


@kernel
def least_wanted(search: Search, rank: int) -> float:
    """The score that further candidates, from the structure of a rank, must exceed."""
    wanted = len(search.scores) - 1 - rank
    if search.waiting[0] < wanted:
        return -np.inf
    return search.scores[wanted - 1] if wanted > 0 else np.inf


@kernel
def take(search: Search, rank: int) -> tuple[float, int]:
    """Make the first candidate the structure of a rank: its score, and the place up to which it is given."""
    score, place = search.scores[0], search.entries[0, 1]
    search.choices[rank] = search.choices[search.entries[0, 0]]
    search.choices[rank, place] = search.entries[0, 2]
    search.waiting[0] = drop_first(search.scores, search.entries, search.waiting[0])
    return score, place


@kernel
def choice_of_term(
    search: Search, rank: int, place: int, given: int, score: float,
    left: Array, i: int, right: Array, j: int, first: int, last: int, shift: int,
) -> int:  # fmt: skip
    """The choice among the terms left[i, k] + right[j, k + shift], first <= k < last, at a place."""
    if place > given:
        best = best_term(left, i, right, j, first, last, shift)
        top = left[i, best] + right[j, best + shift]
        search.choices[rank, place] = best
        least = least_wanted(search, rank)
        for k in range(first, last if least < np.inf else first):
            other = score + (left[i, k] + right[j, k + shift] - top)
            if other > least and k != best:
                consider(search, rank, place, k, other)
                least = least_wanted(search, rank)
    return search.choices[rank, place]  # type: ignore[no-any-return]


@kernel
def choice_of_value(search: Search, rank: int, place: int, given: int, score: float, values: Array) -> int:
    """The choice among scores at a place."""
    if place > given:
        best = 0
        for k in range(1, len(values)):
            if values[k] > values[best]:
                best = k
        search.choices[rank, place] = best
        least = least_wanted(search, rank)
        for k in range(len(values) if least < np.inf else 0):
            other = score + (np.float64(values[k]) - values[best])
            if other > least and k != best:
                consider(search, rank, place, k, other)
                least = least_wanted(search, rank)
    return search.choices[rank, place]  # type: ignore[no-any-return]
