"""Explanations of spans with heads that are not a lexicalised tree."""

from __future__ import annotations

from collections.abc import Sequence


def headless(event: Sequence[Sequence[int]], length: int) -> str | None:
    """Return a clause about the first span whose head is outside the span, or is the head of neither child.

    Return None if there is none. ``event (n + 1, n + 1)`` must be a binary tree: ``[i][j]`` is the head of the
    span from fencepost i to j, -1 for no span; words count from 0. ``length`` is the number of words.

    Examples:
        >>> headless([[-1, 0, 2], [-1, -1, 1], [-1, -1, -1]], 2)
        'the span from fencepost 0 to 2 has the head 2, a word outside'
        >>> headless([[-1, 0, 1, 0], [-1, -1, 1, -1], [-1, -1, -1, 2], [-1] * 4], 3)
        'the span from fencepost 0 to 3 has the head 0, and its parts have the heads 1 and 2'
    """
    for start in range(length):
        for end in range(start + 1, length + 1):
            head, name = event[start][end], f"the span from fencepost {start} to {end}"
            if head >= 0 and not start <= head < end:
                return f"{name} has the head {head}, a word outside"
            if head < 0 or end == start + 1:
                continue
            split = next(m for m in range(start + 1, end) if event[start][m] >= 0 and event[m][end] >= 0)
            parts = event[start][split], event[split][end]
            if head not in parts:
                return f"{name} has the head {head}, and its parts have the heads {parts[0]} and {parts[1]}"
    return None
