"""Subsets by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace

import torch
from torch import Tensor

from strukt.testing.brute_force.table import Table


def k_subset(length: int, scores: Tensor, omitted: Tensor | None = None, *, low: int, high: int) -> Table:
    """All subsets of low to high items, the largest first.

    Args:
        length: Number of items in use.
        scores: `(n,)`, the score of taking each item.
        omitted: `(n,)`, the score of leaving it out; 0 if None.
        low: The smallest size.
        high: The largest size.
    """
    omitted = torch.zeros_like(scores) if omitted is None else omitted
    sizes = range(min(high, length), low - 1, -1)
    subsets = [chosen for size in sizes for chosen in itertools.combinations(range(length), size)]
    events, parts = _rows(subsets, length, len(scores))
    each = torch.where(events == 1, scores.double(), omitted.double())
    return Table(events, parts, each[:, :length].sum(1))


def k_dpp(length: int, scores: Tensor, kernel: Tensor, *, k: int) -> Table:
    """All subsets of k items of a determinantal point process, with a kernel of full rank.

    Args:
        length: Number of items in use.
        scores: `(n,)`, a log-weight of each item.
        kernel: `(n, n)`, symmetric and positive definite.
        k: The size of the subsets.
    """
    table = k_subset(length, scores, low=k, high=k)
    volumes = [kernel.double()[event == 1][:, event == 1].logdet() for event in table.events]
    return replace(table, scores=table.scores + torch.stack(volumes))


def _rows(subsets: list[tuple[int, ...]], length: int, n: int) -> tuple[Tensor, Tensor]:
    """Subsets as 0/1 events, padded with -1, and as parts."""
    events = torch.full((len(subsets), n), -1, dtype=torch.long)
    events[:, :length] = 0
    for row, chosen in zip(events, subsets, strict=True):
        row[list(chosen)] = 1
    return events, (events == 1).double()
