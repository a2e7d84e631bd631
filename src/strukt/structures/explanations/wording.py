"""Phrases that explanations share."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMED = 8
"""The largest number of numbers that a phrase lists."""


def listed(values: Sequence[int]) -> str:
    """Return numbers as a phrase.

    Examples:
        >>> listed([2]), listed([2, 5]), listed([1, 2, 5])
        ('2', '2 and 5', '1, 2 and 5')
        >>> listed(range(40))
        '0, 1, 2, 3, 4, 5, 6, 7 and 32 more'
    """
    names = [str(value) for value in values[:MOST_NAMED]]
    if len(values) > MOST_NAMED:
        names.append(f"{len(values) - MOST_NAMED} more")
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def unknown(place: str, value: int, length: int, expected: str) -> str:
    """Return a clause about a negative value within the length; other libraries mark unknown entries with these.

    ``place`` names the entry, such as "frame 3"; ``expected`` describes valid values.
    """
    return (
        f"{place} holds {value}, within the length {length}; expected {expected}. Padding belongs beyond the "
        "lengths; for unknown entries use partial_log_prob(event, known)"
    )


def out_of_range(event: Sequence[int], length: int, count: int, what: str, place: str) -> str | None:
    """Return a clause about the first value within the length that is not from 0 to count - 1; None if all are.

    ``what`` is the noun for a value, such as "label", and ``place`` that for its position, such as "frame".
    """
    for position, value in enumerate(event[:length]):
        if value < 0:
            return unknown(f"{place} {position}", value, length, f"a {what} from 0 to {count - 1}")
        if value >= count:
            return f"{what} {value} at {place} {position} is out of range; expected 0 to {count - 1}"
    return None
