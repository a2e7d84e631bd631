"""Scores of several tensors, concatenated to one row for each item."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import Scores
from strukt.kernels.engine.operators import doubles_of


def joined(scores: Sequence[Tensor]) -> Tensor:
    """Concatenate scores ``(..., g, size)`` to rows ``(..., batch, places)``; batch / g items share each entry."""
    batch = scores[0].shape[-2]
    return torch.cat([score.repeat_interleave(batch // max(score.shape[-2], 1), -2) for score in scores], -1)


def parted(rows: Tensor, scores: Sequence[Tensor]) -> list[Tensor]:
    """Split rows ``(batch, places)`` into the shapes of scores ``(g, ...)``; add up items that share entries."""
    result, first = [], 0
    for score in scores:
        count = math.prod(score.shape[1:])
        part = rows[:, first : first + count]
        if len(score) != len(rows):
            part = part.reshape(len(score), len(rows) // max(len(score), 1), count).sum(1)
        result.append(part.reshape(score.shape))
        first += count
    return result


def row_of(scores: Sequence[Tensor]) -> Array:
    """Return scores of several tensors as ``(batch, places)``, in float64."""
    return joined([torch.from_numpy(doubles_of(score)).flatten(1) for score in scores]).numpy()


def parts_of(rows: Array, scores: Sequence[Tensor]) -> Scores:
    """Split rows ``(batch, places)`` into the types and shapes of the scores.

    The parts are copies, as results of operators share no memory.
    """
    parts = zip(parted(torch.from_numpy(rows), scores), scores, strict=True)
    return tuple(score.new_empty(score.shape).copy_(part) for part, score in parts)
