"""Scores of several tensors, concatenated to one row for each item."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

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
    parts = views(rows, [score.shape[1:] for score in scores])
    return [reduced(part, score, torch.sum) for part, score in zip(parts, scores, strict=True)]


def reduced(part: Tensor, like: Tensor, reduce: Callable[..., Tensor]) -> Tensor:
    """Reduce numbers ``(batch, ...)`` to ``(g, ...)``, the shape of ``like``, of which items share entries.

    The function ``reduce``, such as `torch.sum`, reduces the axis of the batch / g items of an entry.
    """
    if len(part) == len(like):
        return part
    return reduce(part.reshape(len(like), len(part) // max(len(like), 1), *like.shape[1:]), 1)


def padded(scores: Sequence[Tensor], shapes: Sequence[Sequence[int]]) -> Tensor:
    """Concatenate scores ``(g, ...)`` to rows ``(batch, places)``, each padded with undefined entries to a shape.

    The shapes are without the batch. The main scores come first, with g = batch; consecutive batch / g items share
    an entry of the others.
    """
    batch = len(scores[0])
    rows = scores[0].new_empty(batch, sum(math.prod(shape) for shape in shapes))
    for score, part in zip(scores, views(rows, shapes), strict=True):
        within(part, score.shape[1:]).copy_(score.repeat_interleave(batch // max(len(score), 1), 0))
    return rows


def views(rows: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Split rows ``(..., places)`` into views ``(..., *shape)``."""
    result, first = [], 0
    for shape in shapes:
        last = first + math.prod(shape)
        result.append(rows[..., first:last].view(*rows.shape[:-1], *shape))
        first = last
    return result


def within(part: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the first entries ``(..., *shape)`` along the last axes of a tensor, as a view."""
    index: tuple[Any, ...] = (..., *map(slice, shape))
    return part[index]


def row_of(scores: Sequence[Tensor]) -> Array:
    """Return the scores of several tensors `joined` to rows ``(batch, places)``, in float64."""
    return joined([torch.from_numpy(doubles_of(score)).flatten(1) for score in scores]).numpy()


def parts_of(rows: Array, scores: Sequence[Tensor]) -> Scores:
    """Split rows ``(batch, places)`` into tensors in the shapes and types of the scores, as `parted` does.

    The tensors are copies: results of an operator must share no memory.
    """
    parts = zip(parted(torch.from_numpy(rows), scores), scores, strict=True)
    return tuple(score.new_empty(score.shape).copy_(part) for part, score in parts)
