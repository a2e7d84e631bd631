"""Scores of events as sums over places of the score tensors, in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.semiring import NEG_INF

Places = tuple[Tensor, ...]
"""The type of an event's places. For each score tensor: the indices of the scores that the event uses, in an
item's flattened scores, ``sample_shape + batch + (count,)``; -1 for none.
"""


def total(score: Tensor, dim: int, place: Tensor) -> Tensor:
    """Return the sum of the scores at some places: the shape of ``place`` without its last axis; differentiable.

    Args:
        score: Batch axes, of size 1 if items share their scores, then ``dim`` axes of parts.
        dim: The number of part axes.
        place: ``sample_shape + batch + (count,)``.

    Examples:
        >>> scores = torch.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
        >>> total(scores, 1, torch.tensor([[0, 2, -1], [1, -1, -1]]))
        tensor([ 5., 16.])
    """
    if not score.numel() or not place.shape[-1]:
        return score.reshape(-1)[:0].sum().expand(place.shape[:-1])
    flat, index = score.flatten(-dim), place.clamp(min=0)
    batch = flat.shape[:-1]
    if batch.numel() == 1:
        chosen = flat.flatten()[index]
    else:
        items = [
            torch.arange(size, device=score.device).view(size, *(1,) * (len(batch) - axis))
            for axis, size in enumerate(batch)
        ]
        chosen = flat[(*items, index)]
    return chosen.masked_fill(place < 0, 0.0).sum(-1)


def sum_of_totals(scores: Scores, dims: tuple[int, ...], places: Places) -> Tensor:
    """Return the score of events ``sample_shape + batch``: the sum of the scores at all their places."""
    first, *others = (
        total(score, dim, place) for score, dim, place in zip(scores, dims, places, strict=True)
    )
    for other in others:
        first = first + other
    return first


def log_ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Return the log of a probability as a difference of two logs; -inf if either is -inf.

    Both may be so large that rounding makes the difference positive; it is then clipped to 0.
    """
    impossible = (numerator == NEG_INF) | (denominator == NEG_INF)
    ratio = torch.where(impossible, NEG_INF, numerator - torch.where(impossible, 0.0, denominator))
    return ratio - ratio.detach().clamp(min=0.0)


def log_prob(scores: Scores, dims: tuple[int, ...], places: Places, log_partition: Tensor) -> Tensor:
    """Return the log-probability of one event for each item, ``(batch,)``, from the places of its scores."""
    return log_ratio(sum_of_totals(scores, dims, places), log_partition)


def opposites(grad: Tensor, log_prob: Tensor) -> Tensor:
    """Return the negatives of gradients ``(batch,)``; 0 for impossible events, with ``log_prob`` -inf."""
    return -grad.masked_fill(log_prob == NEG_INF, 0.0)


def subtract(parts: Scores, places: Places, weight: Tensor) -> None:
    """Subtract each item's weight ``(batch,)`` from its places in the gradients ``(g, ...)``, in place."""
    for part, place in zip(parts, places, strict=True):
        if part.numel() and place.shape[-1]:
            _subtract(part, place, weight)


def _subtract(part: Tensor, place: Tensor, weight: Tensor) -> None:
    """Subtract weights ``(batch,)`` from one tensor of gradients ``(g, ...)``, at ``place (batch, count)``."""
    groups, batch = part.shape[0], place.shape[0]
    values = weight.unsqueeze(-1).expand(place.shape).masked_fill(place < 0, 0.0)
    index = place.clamp(min=0)
    if groups > 1:
        items = torch.arange(batch, device=place.device).div_(batch // groups, rounding_mode="floor")
        index += items.mul_(part.numel() // groups).unsqueeze(-1)
    part.view(-1).index_add_(0, index.view(-1), values.view(-1), alpha=-1)
