"""Numbers as tensors on any device, whose values the host remembers.

A kernel takes a parameter for each row. If all rows share one number that the host knows, a kernel for GPUs can be
compiled for this number, and nobody waits for a copy to the device.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import is_plain

MOST = 64
"""The number of tensors that are kept; a schedule with more values is not remembered."""

_kept: dict[tuple[float, torch.device], Tensor] = {}
_numbers: dict[tuple[torch.device, int], float] = {}
"""The numbers of kept tensors, which are never freed, by their addresses."""


def constant(value: float, device: torch.device) -> Tensor:
    """Return a number as a 0-dimensional float64 tensor. It may be cached, so never modify it in place.

    Examples:
        >>> number(constant(1.5, torch.device("cpu")).expand(3))
        1.5
    """
    kept = _kept.get((value, device))
    if kept is not None and is_plain():
        return kept
    if len(_kept) >= MOST or not is_plain() or _is_capturing(device):
        return torch.tensor(value, dtype=torch.float64, device=device)
    with torch.inference_mode(mode=False):  # autograd saves no tensors of the inference mode
        result = _kept[value, device] = torch.tensor(value, dtype=torch.float64, device=device)
    _numbers[device, result.data_ptr()] = value
    return result


def number(tensor: Tensor) -> float | None:
    """Return the number that all entries of a tensor are if it is an expanded `constant`; None if unknown."""
    return _numbers.get((tensor.device, tensor.data_ptr())) if is_plain() else None


def _is_capturing(device: torch.device) -> bool:
    """Return True if a CUDA graph is being captured, whose memory is not ours to keep."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()
