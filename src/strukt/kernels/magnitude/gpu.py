"""The check for large scores on a GPU: one launch for each tensor, and one wait for the device."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.magnitude import gpu_look

BLOCK = 4096
"""The number of scores that a Triton program checks."""


def fits(score: Tensor) -> bool:
    """Return True if there are scores; see `strukt.kernels.dispatch`."""
    return score.numel() > 0


def are_ordinary(values: tuple[Tensor, ...], bound: float) -> bool:
    """Return True if each score is -inf, or a number from -bound to bound; False if one is NaN."""
    is_odd = torch.zeros(1, dtype=torch.int32, device=values[0].device)
    with device_of(values[0]):
        for score in values:
            stored = score.detach()[tuple(slice(1 if stride == 0 else None) for stride in score.stride())]
            if stored.numel():
                blocks = -(-stored.numel() // BLOCK)
                launcher(gpu_look.find_odd, (blocks,))(stored.contiguous(), is_odd, stored.numel(), bound, BLOCK)
    return not is_odd.item()
