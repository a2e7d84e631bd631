"""Trees over spans by enumeration."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from strukt.testing.brute_force.table import Table


def span_tree(length: int, spans: Tensor, labelled: bool) -> Table:
    """All binary trees over spans.

    Args:
        length: Number of words in use.
        spans: `(n + 1, n + 1)`, or `(n + 1, n + 1, c)` with labels; `[i, j]` scores the span from i to j > i.
        labelled: Whether there is an axis of labels.
    """
    scores = (spans if labelled else spans[..., None]).double()
    size, labels = scores.shape[1:]
    events, parts, totals = [], [], []
    for tree in _bracketings(tuple(range(length + 1))):
        for choice in itertools.product(range(labels), repeat=len(tree)):
            event = torch.full((size, size), -1, dtype=torch.long)
            part = torch.zeros(size, size, labels, dtype=torch.float64)
            for (start, end), label in zip(tree, choice, strict=True):
                event[start, end] = label
                part[start, end, label] = 1
            events.append(event)
            parts.append(part if labelled else part[..., 0])
            starts, ends = torch.tensor(tree, dtype=torch.long).reshape(-1, 2).unbind(1)
            totals.append(scores[starts, ends, torch.tensor(choice, dtype=torch.long)].sum())
    return Table(torch.stack(events), torch.stack(parts), torch.stack(totals))


def bit_span_tree(length: int, bits: Tensor) -> Table:
    """All binary trees over spans with a code of bits on each span.

    Args:
        length: Number of words in use.
        bits: `(n + 1, n + 1, k)`; `[i, j]` scores the value +1 of each bit of the span from i to j > i.
    """
    size, k = bits.shape[1:]
    codes = list(itertools.product((0, 1), repeat=k))
    events, parts, totals = [], [], []
    for tree in _bracketings(tuple(range(length + 1))):
        for choice in itertools.product(codes, repeat=len(tree)):
            event = torch.full((size, size), -1, dtype=torch.long)
            part = torch.zeros(size, size, k, dtype=torch.float64)
            for (start, end), code in zip(tree, choice, strict=True):
                event[start, end] = sum(bit << place for place, bit in enumerate(code))
                part[start, end] = torch.tensor(code)
            events.append(event)
            parts.append(part)
            totals.append(bits.double()[part > 0].sum())
    return Table(torch.stack(events), torch.stack(parts), torch.stack(totals))


def _bracketings(posts: tuple[int, ...]) -> list[list[tuple[int, int]]]:
    """The spans of every way to bracket what stands between fenceposts, one bracket with two parts at a time."""
    if len(posts) < 2:
        return [[]]
    whole = (posts[0], posts[-1])
    if len(posts) == 2:
        return [[whole]]
    found = []
    for middle in range(1, len(posts) - 1):
        lefts, rights = _bracketings(posts[: middle + 1]), _bracketings(posts[middle:])
        found += [[whole, *left, *right] for left in lefts for right in rights]
    return found
