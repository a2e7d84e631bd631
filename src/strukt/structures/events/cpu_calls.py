"""Calls of the kernels of events: tensors become arrays, and the results are allocated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.jit import array_of


def mask_of(kernel: Callable[..., None], events: Tensor, *arguments: Any) -> Tensor:
    """Return the mask ``(rows,)`` of events that a kernel writes to its last argument."""
    right = np.zeros(len(events), np.bool_)
    kernel(array_of(events), *map(array_of, arguments), right)
    return torch.from_numpy(right)


def places_of(kernel: Callable[..., None], shape: tuple[int, ...], *arguments: Any) -> tuple[Tensor, Tensor]:
    """Return two tensors of places, -1 where a kernel writes nothing to its last two arguments."""
    first, second = np.full(shape, -1), np.full(shape, -1)
    kernel(*map(array_of, arguments), first, second)
    return torch.from_numpy(first), torch.from_numpy(second)
