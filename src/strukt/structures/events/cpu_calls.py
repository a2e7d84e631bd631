"""Calls of Numba kernels of events: convert tensors to arrays, and allocate the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.jit import array_of


def mask_of(kernel: Callable[..., None], events: Tensor, *arguments: Any) -> Tensor:
    """Call a kernel that writes a mask ``(rows,)`` of events to its last argument; return the mask."""
    are_valid = np.zeros(len(events), np.bool_)
    kernel(array_of(events), *map(array_of, arguments), are_valid)
    return torch.from_numpy(are_valid)


def places_of(kernel: Callable[..., None], shape: tuple[int, ...], *arguments: Any) -> tuple[Tensor, Tensor]:
    """Call a kernel that writes places to its last two arguments; return these, with -1 where it wrote nothing."""
    first, second = np.full(shape, -1), np.full(shape, -1)
    kernel(*map(array_of, arguments), first, second)
    return torch.from_numpy(first), torch.from_numpy(second)
