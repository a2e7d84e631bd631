"""Search for the k best structures, whose choices stand in an order: what the kernels share around their walks.

A walk through a structure follows the choices that it is given, up to a place, and makes the best one at each
place after it, where it offers the others as candidates (see `strukt.kernels.cpu_candidates`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels import cpu_candidates
from strukt.kernels.cpu_candidates import (
    Array,
    Candidates,
    make_candidates,
    offer_others,
)
from strukt.kernels.jit import kernel


class Search(NamedTuple):
    """Memory for the search in one item.

    Attributes:
        candidates: What the places of the structures found so far offer.
        choices: ``(k, places)``, the choices in these structures.
    """

    candidates: Candidates
    choices: Array


@kernel
def make_search(k: int, places: int) -> Search:
    """Without candidates; the choices are uninitialised."""
    return Search(make_candidates(k), np.empty((k, places), np.int64))


@kernel
def start(search: Search) -> None:
    """Forget the candidates of another item."""
    search.candidates.waiting[0] = 0


@kernel
def take(search: Search, rank: int) -> tuple[float, int]:
    """Make the best candidate the structure of a rank: its score, and the place up to which it is given.

    The score is -inf if no candidate is left.
    """
    score, parent, place, choice = cpu_candidates.take(search.candidates)
    search.choices[rank] = search.choices[parent]
    search.choices[rank, place] = choice
    return score, place


@kernel
def choice_of_value(search: Search, rank: int, place: int, given: int, score: float, values: Array) -> int:
    """The choice among scores at a place."""
    if place > given:
        best = 0
        for k in range(1, len(values)):
            if values[k] > values[best]:
                best = k
        search.choices[rank, place] = best
        if rank < len(search.choices) - 1:
            offer_others(search.candidates, rank, place, values, best, score)
    return search.choices[rank, place]  # type: ignore[no-any-return]
