"""Brute-force enumeration of binary trees over spans."""

from __future__ import annotations

import itertools
from functools import cache

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


def span_tree(length: int, spans: Tensor, labelled: bool) -> Table:
    """Return all binary trees over spans, and their scores.

    Args:
        length: The number of words in use.
        spans: ``(n + 1, n + 1)``, or ``(n + 1, n + 1, c)`` with labels; ``[i, j]`` scores the span from fencepost
            i to j > i.
        labelled: Whether there is an axis of labels.
    """
    scores = (spans if labelled else spans[..., None]).double()
    events = labelled_trees(length, *scores.shape[1:])
    parts = (events[..., None] == torch.arange(scores.shape[-1])).double()
    return Table(events.clone(), parts if labelled else parts[..., 0], total(scores, parts))


def total(scores: Tensor, parts: Tensor) -> Tensor:
    """Return the score of each tree, ``(trees,)``, from its ``parts (trees, ...)`` and their ``scores (...)``."""
    return torch.where(parts > 0, scores, 0).flatten(1).sum(1)


@cache
@torch.inference_mode(False)  # cached tensors may need gradients later
def labelled_trees(length: int, size: int, labels: int) -> Tensor:
    """Return the events ``(trees, size, size)`` of all binary trees over the first ``length`` words.

    Each tree occurs with every assignment of the labels 0 to ``labels - 1`` to its spans.
    """
    result = []
    for tree in _bracketings(tuple(range(length + 1))):
        choices = torch.tensor(list(itertools.product(range(labels), repeat=len(tree))), dtype=torch.long)
        starts, ends = torch.tensor(tree, dtype=torch.long).reshape(-1, 2).unbind(1)
        events = torch.full((len(choices), size, size), -1)
        events[:, starts, ends] = choices
        result.append(events)
    return torch.cat(result)


def _bracketings(posts: tuple[int, ...]) -> list[list[tuple[int, int]]]:
    """Return all binary bracketings of the words between the fenceposts ``posts``: for each, its spans."""
    if len(posts) < 2:
        return [[]]
    whole = (posts[0], posts[-1])
    if len(posts) == 2:
        return [[whole]]
    result = []
    for middle in range(1, len(posts) - 1):
        lefts, rights = _bracketings(posts[: middle + 1]), _bracketings(posts[middle:])
        result += [[whole, *left, *right] for left in lefts for right in rights]
    return result
