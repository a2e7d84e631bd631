"""Brute-force enumeration of matchings."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from strukt.structures.enumeration import Table, choices


def matching(length: int, scores: Tensor) -> Table:
    """Return all assignments of distinct columns to rows.

    Args:
        length: The number of rows in use.
        scores: ``(n, m)``; ``[i, j]`` scores row i with column j.
    """
    n, m = scores.shape
    events, parts = choices(list(itertools.permutations(range(m), length)), n, m)
    return Table(events, parts, scores.double()[torch.arange(length), events[:, :length]].sum(1))
