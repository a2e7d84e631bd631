"""Explanations of labelled spans that are not a binary tree."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.structures.explanations.wording import unknown


def tree(event: Sequence[Sequence[int]], length: int, word: range, wider: range) -> str | None:
    """Return a clause about the first fault of the labels of spans; None if they are a binary tree.

    Args:
        event: ``[i][j]`` is the label of the span from fencepost i to j, -1 if it is not in the tree.
        length: The number of words.
        word: The labels that a single word may have.
        wider: The labels that wider spans may have.

    Examples:
        >>> labels = range(1)
        >>> tree([[-1, 0, 0, -1], [-1, -1, 0, 0], [-1, -1, -1, 0], [-1, -1, -1, -1]], 3, labels, labels)
        'the span of the whole sentence, from fencepost 0 to 3, is missing'
    """
    used = []
    for start in range(length):
        for end in range(start + 1, length + 1):
            label, allowed = event[start][end], word if end == start + 1 else wider
            if label < -1:
                expected = f"a label from {allowed.start} to {allowed.stop - 1}, or -1 for no span"
                return unknown(_span(start, end), label, length, expected)
            if label >= 0 and label not in allowed:
                return (
                    f"label {label} of {_span(start, end)} is out of range; expected {allowed.start} to "
                    f"{allowed.stop - 1}"
                )
            if label >= 0:
                used.append((start, end))
    return _missing(used, length) or _crossing(used) or _unsplit(used, length)


def _missing(used: Sequence[tuple[int, int]], length: int) -> str | None:
    for start in range(length):
        if (start, start + 1) not in used:
            return f"{_span(start, start + 1)}, a single word, is missing; expected a label for every word"
    if length and (0, length) not in used:
        return f"the span of the whole sentence, from fencepost 0 to {length}, is missing"
    return None


def _crossing(used: Sequence[tuple[int, int]]) -> str | None:
    for low, high in used:
        for start, end in used:
            if low < start < high < end:
                return f"the spans from fencepost {low} to {high} and from {start} to {end} cross"
    return None


def _unsplit(used: Sequence[tuple[int, int]], length: int) -> str | None:
    there = set(used)
    for start, end in sorted(used, key=lambda span: span[1] - span[0]):
        middle = range(start + 1, end)
        if middle and not any((start, place) in there and (place, end) in there for place in middle):
            return (
                f"{_span(start, end)} is not split into two spans; expected a binary tree, which has "
                f"{2 * length - 1} spans over {length} words, and this has {len(used)}"
            )
    return None


def _span(start: int, end: int) -> str:
    return f"the span from fencepost {start} to {end}"
