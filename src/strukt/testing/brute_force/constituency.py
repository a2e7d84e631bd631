"""Trees over spans by enumeration."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

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
    events = _labelled(length, *scores.shape[1:])
    parts = (events[..., None] == torch.arange(scores.shape[-1])).double()
    return Table(events.clone(), parts if labelled else parts[..., 0], _total(scores, parts))


def bit_span_tree(length: int, bits: Tensor) -> Table:
    """All binary trees over spans with a code of bits on each span.

    Args:
        length: Number of words in use.
        bits: `(n + 1, n + 1, k)`; `[i, j]` scores the value +1 of each bit of the span from i to j > i.
    """
    size, k = bits.shape[1:]
    events = _labelled(length, size, 2**k)
    parts = (events.clamp(min=0)[..., None] >> torch.arange(k) & 1).double()
    return Table(events.clone(), parts, _total(bits.double(), parts))


def lexicalised_tree(length: int, spans: Tensor, arcs: Tensor) -> Table:
    """All binary trees over spans whose heads come from one of their parts.

    Args:
        length: Number of words in use.
        spans: `(n + 1, n + 1, n)`; `[i, j, h]` scores the span from i to j > i with the head h.
        arcs: `(n, n + 1)`; `[m, h]` scores head h for word m + 1, head 0 is the root.
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
    """For each tree of a span the heads of its spans, the heads of its words but one, and that one."""
    if end == start + 1:
        return [({(start, end): start}, {}, start)]
    found = []
    for middle in range(start + 1, end):
        for left, below_left, one in _headed(start, middle):
            for right, below_right, two in _headed(middle, end):
                for head, other in ((one, two), (two, one)):
                    heads = {(start, end): head} | left | right
                    found.append((heads, below_left | below_right | {other: head}, head))
    return found


def _total(scores: Tensor, parts: Tensor) -> Tensor:
    return torch.where(parts > 0, scores, 0).flatten(1).sum(1)


@cache
@torch.inference_mode(False)  # what is kept may be asked for gradients later
def _labelled(length: int, size: int, labels: int) -> Tensor:
    """The events of all binary trees with a label on each span."""
    found = []
    for tree in _bracketings(tuple(range(length + 1))):
        choices = torch.tensor(list(itertools.product(range(labels), repeat=len(tree))), dtype=torch.long)
        starts, ends = torch.tensor(tree, dtype=torch.long).reshape(-1, 2).unbind(1)
        events = torch.full((len(choices), size, size), -1)
        events[:, starts, ends] = choices
        found.append(events)
    return torch.cat(found)


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
