"""Numba kernels that sum the scores of events, and subtract from gradients at the events' places.

PyTorch would need intermediate arrays.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import Scores
from strukt.kernels.jit import kernel
from strukt.kernels.places.reference import Places
from strukt.kernels.semiring import NEG_INF


def log_prob(scores: Scores, dims: tuple[int, ...], places: Places, log_partition: Tensor) -> Tensor:
    """Return the log-probability of one event for each item, ``(batch,)``; scores are summed in double precision.

    Args:
        scores: Each ``(g, ...)``, where g divides the batch, and consecutive batch / g items share their scores.
        dims: The number of part axes of each score tensor.
        places: For each score tensor the flat indices of an event's entries, ``(batch, count)``; -1 for none.
        log_partition: ``(batch,)``, the log-partition of each item.
    """
    sums = log_partition.numpy()
    total, value = np.zeros(sums.shape), np.empty_like(sums)
    for score, place in zip(scores, places, strict=True):
        _add_up(_rows(score), place.numpy(), total)
    _log_ratio(total.astype(sums.dtype), sums, value)
    return torch.from_numpy(value)


def opposites(grad: Tensor, log_prob: Tensor) -> Tensor:
    """Return the negatives of gradients ``(batch,)``; 0 for impossible events, with ``log_prob`` -inf."""
    values = log_prob.numpy()
    weight = np.zeros(len(values), values.dtype)
    _opposites(grad.contiguous().numpy(), values, weight)
    return torch.from_numpy(weight)


def subtract(parts: Scores, places: Places, weight: Tensor) -> None:
    """Subtract each item's weight ``(batch,)`` from its places in the gradients ``(g, ...)``, in place."""
    for part, place in zip(parts, places, strict=True):
        _subtract(_rows(part), place.numpy(), weight.numpy())


def _rows(value: Tensor) -> Array:
    """Return scores or gradients ``(g, ...)`` as an array ``(g, size)``; a view if they are contiguous."""
    return value.detach().contiguous().numpy().reshape(value.shape[0], -1)


@kernel
def _add_up(score: Array, place: Array, out: Array) -> None:
    """Add to ``out (batch,)`` the entries of ``score (g, size)`` at ``place (batch, count)``.

    Indices outside of a row, such as -1, are ignored.
    """
    batch, count = place.shape
    for b in range(batch):
        row = b * score.shape[0] // batch
        for k in range(count):
            if 0 <= place[b, k] < score.shape[1]:
                out[b] += score[row, place[b, k]]


@kernel
def _log_ratio(numerator: Array, denominator: Array, out: Array) -> None:
    """Write ``numerator - denominator`` to ``out``, ``(batch,)`` each; -inf if either is, and at most 0."""
    for b in range(len(out)):
        if numerator[b] == NEG_INF or denominator[b] == NEG_INF:
            out[b] = NEG_INF
        else:
            out[b] = numerator[b] - denominator[b]
            if out[b] > 0.0:
                out[b] = 0.0


@kernel
def _opposites(grad: Array, log_prob: Array, out: Array) -> None:
    """Write ``-grad`` to ``out``, which is 0, where ``log_prob`` is above -inf; all are ``(batch,)``."""
    for b in range(len(out)):
        if log_prob[b] != NEG_INF:
            out[b] = -grad[b]


@kernel
def _subtract(part: Array, place: Array, weight: Array) -> None:
    """Subtract ``weight (batch,)`` from the entries of ``part (g, size)`` at ``place (batch, count)``.

    Indices outside of a row, such as -1, are ignored.
    """
    batch, count = place.shape
    for b in range(batch):
        row = b * part.shape[0] // batch
        for k in range(count):
            if 0 <= place[b, k] < part.shape[1]:
                part[row, place[b, k]] -= weight[b]
