"""Brute-force enumeration of lexicalised trees."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


def lexicalised_tree(length: int, spans: Tensor, arcs: Tensor) -> Table:
    """Return all binary trees over spans in which the head of each span is the head of one of its children.

    Args:
        length: The number of words in use.
        spans: ``(n + 1, n + 1, n)``; ``[i, j, h]`` scores the span from i to j > i with the head h.
        arcs: ``(n, n + 1)``; ``[m, h]`` scores head h for word m + 1, head 0 is the root.
    """
    size, n = spans.shape[1:]
    trees: list[Any] = _headed(0, length) if length else [({}, {}, None)]
    events = torch.full((len(trees), size, size), -1)
    scores = []
    for event, (heads, dependents, top) in zip(events, trees, strict=True):
        total = spans[:0].double().sum()
        for (start, end), head in heads.items():
            event[start, end] = head
            total = total + spans.double()[start, end, head]
        for word, head in dependents.items():
            total = total + arcs.double()[word, head + 1]
        scores.append(total if top is None else total + arcs.double()[top, 0])
    parts = (events[..., None] == torch.arange(n)).double()
    return Table(events, parts, torch.stack(scores))


def _headed(start: int, end: int) -> list[tuple[dict[tuple[int, int], int], dict[int, int], int]]:
    """Return all trees over the words from ``start`` to ``end - 1``.

    For each: the head of each of its spans, the head of each word except the head of the tree, and this head.
    """
    if end == start + 1:
        return [({(start, end): start}, {}, start)]
    result = []
    for middle in range(start + 1, end):
        for left, below_left, one in _headed(start, middle):
            for right, below_right, two in _headed(middle, end):
                for head, other in ((one, two), (two, one)):
                    heads = {(start, end): head} | left | right
                    result.append((heads, below_left | below_right | {other: head}, head))
    return result
