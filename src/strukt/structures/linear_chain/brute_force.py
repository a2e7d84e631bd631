"""Brute-force enumeration of tag sequences."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from strukt.structures.enumeration import Table, choices


def chain(length: int, unary: Tensor, transition: Tensor) -> Table:
    """Return all tag sequences of a linear chain and their scores.

    Args:
        length: The number of positions in use.
        unary: ``(n, c)``, the score of each tag at each position.
        transition: ``(c, c)`` or ``(n - 1, c, c)``; ``[i, j]`` scores tag i followed by tag j.
    """
    n, c = unary.shape
    sequences = list(itertools.product(range(c), repeat=length))
    events, parts = choices(sequences, n, c)
    tags = events[:, :length]
    steps = transition.double().expand(max(n - 1, 0), c, c)[: max(length - 1, 0)]
    node_scores = unary.double()[torch.arange(length), tags].sum(1)
    step_scores = steps[torch.arange(len(steps)), tags[:, :-1], tags[:, 1:]].sum(1)
    return Table(events, parts, node_scores + step_scores)
