"""Brute-force enumeration of binary trees over spans with codes."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.structures.enumeration import Table
from strukt.structures.span_tree.brute_force import labelled_trees, total


def bit_span_tree(length: int, bits: Tensor) -> Table:
    """Return all binary trees over spans with all codes of bits on their spans, and their scores.

    Args:
        length: The number of words in use.
        bits: ``(n + 1, n + 1, k)``; ``[i, j]`` scores the value +1 of each bit of the span from i to j > i.
    """
    size, k = bits.shape[1:]
    events = labelled_trees(length, size, 2**k)
    parts = (events.clamp(min=0)[..., None] >> torch.arange(k) & 1).double()
    return Table(events.clone(), parts, total(bits.double(), parts))
