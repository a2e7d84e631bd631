"""Dependency trees as in a CoNLL-U HEAD column: `heads[m]` is the head of word m + 1, and 0 is the root."""

from __future__ import annotations

from collections.abc import Sequence


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Return the words of one cycle, in the order of following the heads; empty if there is none.

    Complexity: O(n).

    Examples:
        >>> find_cycle([2, 3, 1, 0]), find_cycle([2, 0])
        ([1, 2, 3], [])
    """
    reached_by = [0] * (len(heads) + 1)  # the start from which each word was reached first; 0 means not yet
    for start in range(1, len(heads) + 1):
        word = start
        while word and not reached_by[word]:
            reached_by[word] = start
            word = heads[word - 1]
        if word and reached_by[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return cycle
    return []


def is_projective(heads: Sequence[int]) -> bool:
    """Return whether no two arcs of a tree cross, including the arc from the root, which stands before word 1.

    Arcs are visited from left to right, with a stack of those still open; in a projective tree they close in
    the reverse order of opening.

    Complexity: O(n log n).

    Examples:
        >>> is_projective([2, 0, 2]), is_projective([3, 0, 2, 1])
        (True, False)
    """
    arcs = sorted((min(word, head), -max(word, head)) for word, head in enumerate(heads, 1))
    open_ends: list[int] = []
    for left, negative_right in arcs:
        while open_ends and open_ends[-1] <= left:
            open_ends.pop()
        if open_ends and -negative_right > open_ends[-1]:
            return False
        open_ends.append(-negative_right)
    return True
