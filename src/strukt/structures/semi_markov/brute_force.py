"""Brute-force enumeration of segmentations."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


def semi_markov(length: int, segments: Tensor, transition: Tensor | None = None) -> Table:
    """Return all segmentations into labelled segments, and their scores.

    Args:
        length: The number of positions in use.
        segments: ``(n, k, c)``; ``[t, d, j]`` scores a segment of d + 1 positions from t on, with label j.
        transition: ``(c, c)``; ``[i, j]`` scores a segment of label i followed by one of label j. Or
            ``(n - 1, c, c)``, with ``[t]`` for the boundary between positions t and t + 1. None for scores of 0.
    """
    n, longest, labels = segments.shape
    scores = segments.double()
    pairs = scores.new_zeros(labels, labels) if transition is None else transition.double()
    pairs = pairs if pairs.dim() == 3 else pairs.expand(n - 1, labels, labels)
    events, parts, totals = [], [], []
    for durations in _compositions(length, longest):
        starts = torch.tensor([0, *itertools.accumulate(durations)], dtype=torch.long)[:-1]
        last = torch.tensor(durations, dtype=torch.long) - 1
        choices = torch.tensor(
            list(itertools.product(range(labels), repeat=len(durations))), dtype=torch.long
        )
        event = torch.full((len(choices), n), -1)
        event[:, starts] = choices
        part = torch.zeros(len(choices), n, longest, labels, dtype=torch.float64)
        part[torch.arange(len(choices))[:, None], starts, last, choices] = 1
        events.append(event)
        parts.append(part)
        local, onward = scores[starts, last, choices], pairs[starts[1:] - 1, choices[:, :-1], choices[:, 1:]]
        totals.append(local.sum(1) + onward.sum(1))
    return Table(torch.cat(events), torch.cat(parts), torch.cat(totals))


def _compositions(length: int, longest: int) -> list[list[int]]:
    """Return all lists of durations, each from 1 to ``longest``, that add up to ``length``."""
    if length == 0:
        return [[]]
    return [
        [first, *rest]
        for first in range(1, min(length, longest) + 1)
        for rest in _compositions(length - first, longest)
    ]
