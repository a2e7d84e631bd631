"""All labelled binary trees over a few words, one by one."""

from __future__ import annotations

import itertools
from functools import cache


@cache
def shapes(start: int, end: int) -> list[tuple[tuple[int, int], ...]]:
    """The spans of every binary tree from one fencepost to another, in pre-order."""
    if end == start + 1:
        return [((start, end),)]
    return [
        ((start, end), *left, *right)
        for split in range(start + 1, end)
        for left in shapes(start, split)
        for right in shapes(split, end)
    ]


def labelled(words: int, labels: int) -> list[dict[tuple[int, int], int]]:
    """Every tree as the label of each of its spans."""
    return [
        dict(zip(spans, chosen, strict=True))
        for spans in shapes(0, words)
        for chosen in itertools.product(range(labels), repeat=len(spans))
    ]


def score(tree: dict[tuple[int, int], int], scores) -> float:
    """The sum of the scores ``(n + 1, n + 1, labels)``, nested lists, of the spans of a tree."""
    return sum(scores[i][j][label] for (i, j), label in tree.items())
