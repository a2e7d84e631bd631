"""Numbers as tensors on any device; the host remembers their values.

A kernel takes a parameter for each row. If all rows share one number that the host knows, a kernel for GPUs can be
compiled for this number, and the number need not be copied to the device again.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import is_plain
from strukt.kernels.memory import is_capturing

MOST = 64
"""The largest number of tensors that are kept: a schedule of a parameter may have any number of values."""

_kept: dict[tuple[float, torch.device], Tensor] = {}
_numbers: dict[tuple[torch.device, int], float] = {}
"""The numbers of the kept tensors by their addresses, which stay valid as these tensors are never freed."""


def constant(value: float, device: torch.device) -> Tensor:
    """Return a number as a 0-dimensional float64 tensor. It may be cached, so never modify it in place.

    Examples:
        >>> number(constant(1.5, torch.device("cpu")).expand(3))
        1.5
    """
    is_eager = is_plain()  # first: torch.compile would guard a dictionary that it reads
    if is_eager and (kept := _kept.get((value, device))) is not None:
        return kept
    if not is_eager or len(_kept) >= MOST or is_capturing(device):
        return torch.full((), value, dtype=torch.float64, device=device)  # without a copy, which would wait
    with torch.inference_mode(mode=False):  # autograd saves no tensors of the inference mode
        # A copy is complete when the call returns, so that all streams can read it.
        result = _kept[value, device] = torch.tensor(value, dtype=torch.float64, device=device)
    _numbers[device, result.data_ptr()] = value
    return result


def number(tensor: Tensor) -> float | None:
    """Return the value of all entries of a tensor if it is a kept `constant`, perhaps expanded; else None."""
    return _numbers.get((tensor.device, tensor.data_ptr())) if is_plain() else None
