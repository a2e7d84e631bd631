"""Numba kernels that add up scores at places, and add to them, without an array between."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.jit import kernel

Array = npt.NDArray[Any]


def total(score: Tensor, place: Tensor) -> Tensor:
    """Return the sum of each item's scores at its places, ``(batch,)``, added up in double precision.

    Args:
        score: ``(g, ...)``, where consecutive batch / g items share their scores.
        place: ``(batch, count)``; -1 for none.
    """
    out = np.zeros(place.shape[0])
    _total(_rows(score), place.numpy(), out)
    return torch.from_numpy(out).to(score.dtype)


def add(part: Tensor, place: Tensor, weight: Tensor) -> None:
    """Add each item's weight ``(batch,)`` to its places of a gradient ``(g, ...)``, in place."""
    _add(_rows(part), place.numpy(), weight.contiguous().numpy())


def _rows(value: Tensor) -> Array:
    """Return a row for each item or group of items."""
    return value.detach().contiguous().numpy().reshape(value.shape[0], -1)


@kernel
def _total(score: Array, place: Array, out: Array) -> None:
    batch, count = place.shape
    for b in range(batch):
        row = b * score.shape[0] // batch
        for k in range(count):
            if 0 <= place[b, k] < score.shape[1]:
                out[b] += score[row, place[b, k]]


@kernel
def _add(part: Array, place: Array, weight: Array) -> None:
    batch, count = place.shape
    for b in range(batch):
        row = b * part.shape[0] // batch
        for k in range(count):
            if 0 <= place[b, k] < part.shape[1]:
                part[row, place[b, k]] += weight[b]
