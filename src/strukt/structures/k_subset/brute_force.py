"""Brute-force enumeration of subsets."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


def k_subset(length: int, scores: Tensor, omitted: Tensor | None = None, *, low: int, high: int) -> Table:
    """Return all subsets of ``low`` to ``high`` items and their scores, the largest subsets first.

    Args:
        length: The number of items in use.
        scores: ``(n,)``, the score of taking each item.
        omitted: ``(n,)``, the score of leaving each item out; 0 if None.
        low: The smallest size.
        high: The largest size.
    """
    omitted = torch.zeros_like(scores) if omitted is None else omitted
    sizes = range(min(high, length), low - 1, -1)
    subsets = [chosen for size in sizes for chosen in itertools.combinations(range(length), size)]
    events, parts = _rows(subsets, length, len(scores))
    each = torch.where(events == 1, scores.double(), omitted.double())
    return Table(events, parts, each[:, :length].sum(1))


def _rows(subsets: list[tuple[int, ...]], length: int, n: int) -> tuple[Tensor, Tensor]:
    """Return subsets as 0/1 events ``(subsets, n)``, with -1 after the first ``length`` items, and as parts."""
    events = torch.full((len(subsets), n), -1, dtype=torch.long)
    events[:, :length] = 0
    for row, chosen in zip(events, subsets, strict=True):
        row[list(chosen)] = 1
    return events, (events == 1).double()
