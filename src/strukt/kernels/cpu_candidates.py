"""Candidates for the k best structures: each deviates from a better one at one place (Lawler 1972).

The choices of a structure stand in an order: those before a place say which choice the place offers, and what
follows can be completed in a best way. Every structure but the best is then found once: as the best completion of
a better one's choices up to a place, with another choice there. The next best structure is the first candidate,
and only the places after its own offer new ones.

A list of candidates is sorted by descending score: ``scores (k,)``, and ``entries (k, 3)`` with the rank of the
structure that each deviates from, the place, and the choice there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import kernel

Array = npt.NDArray[Any]


@kernel
def offer(scores: Array, entries: Array, count: int, score: float, rank: int, place: int, choice: int) -> int:
    """Enter a candidate unless it is impossible, or the list is full of better ones; gives the new count."""
    room = len(scores)
    if score == -np.inf or room == 0 or (count == room and score <= scores[room - 1]):
        return count
    i = min(count, room - 1)
    while i > 0 and scores[i - 1] < score:
        scores[i] = scores[i - 1]
        entries[i] = entries[i - 1]
        i -= 1
    scores[i] = score
    entries[i, 0], entries[i, 1], entries[i, 2] = rank, place, choice
    return min(count + 1, room)


@kernel
def offer_others(
    scores: Array, entries: Array, count: int, ways: Array, chosen: int, score: float, rank: int, place: int
) -> int:
    """Enter all other choices of a place of a structure; gives the new count.

    Args:
        scores: The list's scores.
        entries: The list's entries.
        count: How many candidates it holds.
        ways: For each choice the best score of what it completes, up to the same constant.
        chosen: The structure's own choice.
        score: The structure's own score.
        rank: The structure's rank.
        place: The place.
    """
    last = scores.shape[0] - 1
    for choice in range(ways.shape[0]):
        found = score + (ways[choice] - ways[chosen])
        # Most choices are worse than a full list, and a call for each would take most of the time.
        if choice != chosen and (count <= last or found > scores[last]):
            count = offer(scores, entries, count, found, rank, place, choice)
    return count


@kernel
def drop_first(scores: Array, entries: Array, count: int) -> int:
    """Take the best candidate off the list; gives the new count."""
    for i in range(1, count):
        scores[i - 1] = scores[i]
        entries[i - 1] = entries[i]
    return count - 1
