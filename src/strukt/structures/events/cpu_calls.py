"""Calls of the kernels of events: tensors become arrays, and the results are allocated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array


def mask_of(kernel: Callable[..., None], events: Tensor, *arguments: Any) -> Tensor:
    """Return the mask ``(rows,)`` of events that a kernel writes to its last argument."""
    right = np.zeros(len(events), np.bool_)
    kernel(*map(array, (events, *arguments)), right)
    return torch.from_numpy(right)


def places_of(kernel: Callable[..., None], shape: tuple[int, ...], *arguments: Any) -> tuple[Tensor, Tensor]:
    """Return two tensors of places, -1 where a kernel writes nothing to its last two arguments."""
    first, second = np.full(shape, -1), np.full(shape, -1)
    kernel(*map(array, arguments), first, second)
    return torch.from_numpy(first), torch.from_numpy(second)


def array(value: Any) -> Array | Any:
    """Return a contiguous array that shares the memory of a tensor if possible; other values are unchanged."""
    return value.contiguous().numpy() if isinstance(value, Tensor) else value
