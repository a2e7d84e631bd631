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
    """Concatenate scores ``(..., g, size)`` to rows ``(..., batch, places)``.

    The main scores come first, with g = batch. Consecutive batch / g items share an entry of the others.
    """
    batch = scores[0].shape[-2]
    return torch.cat([score.repeat_interleave(batch // max(score.shape[-2], 1), -2) for score in scores], -1)


def parted(rows: Tensor, scores: Sequence[Tensor]) -> list[Tensor]:
    """Split rows ``(batch, places)`` into tensors in the shapes ``(g, ...)`` of the scores.

    The numbers of consecutive batch / g items, which share an entry of the scores, are added up.
    """
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
    """Return the scores of several tensors `joined` to rows ``(batch, places)``, in float64."""
    return joined([torch.from_numpy(doubles_of(score)).flatten(1) for score in scores]).numpy()


def parts_of(rows: Array, scores: Sequence[Tensor]) -> Scores:
    """Split rows ``(batch, places)`` into tensors in the shapes and types of the scores, as `parted` does.

    The tensors are copies: results of an operator must share no memory.
    """
    parts = zip(parted(torch.from_numpy(rows), scores), scores, strict=True)
    return tuple(score.new_empty(score.shape).copy_(part) for part, score in parts)
