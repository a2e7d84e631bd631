"""Brute-force enumeration of alignments of a transducer."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from strukt.structures.enumeration import Table


def transducer(length: int, target_length: int, moves: Tensor) -> Table:
    """Return all paths and their scores: all assignments of the labels to frames in order.

    Args:
        length: The number of frames in use.
        target_length: The number of labels.
        moves: ``(n, m + 1, 2)``; ``[t, u]`` scores the blank and the label at frame t after u labels.
    """
    frames = itertools.combinations_with_replacement(range(length), target_length)
    events, parts, totals = [], [], []
    for emitted in frames:
        event = torch.full(moves.shape[:2], -1)
        for t in range(length):
            before, behind = (sum(frame < end for frame in emitted) for end in (t, t + 1))
            event[t, before:behind] = 1
            event[t, behind] = 0
        part = torch.stack([event == 0, event == 1], -1)
        events.append(event)
        parts.append(part.double())
        totals.append(moves.double()[part].sum())
    if not events:
        empty = moves.new_zeros(0, dtype=torch.float64)
        return Table(torch.zeros(0, *moves.shape[:2]).long(), torch.zeros(0, *moves.shape).double(), empty)
    return Table(torch.stack(events), torch.stack(parts), torch.stack(totals))
