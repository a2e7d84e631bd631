"""The proximal map of total variation on a GPU: one launch of a kernel in Triton."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.memory import MOST_ON_GPU

ROWS = 32
"""The number of rows of a Triton program, one for each thread of a warp."""

NUMBERS = 8
"""The number of doubles that a Triton program stores for each entry of a row."""


def fits(scores: Tensor, *others: Tensor) -> bool:
    """Return True if there are scores, in float32 or float64, and a program's workspace is not too large.

    See `strukt.kernels.dispatch`.
    """
    known = scores.dtype in (torch.float32, torch.float64)
    return known and scores.numel() > 0 and _workspace(scores) <= MOST_ON_GPU


def variation(scores: Tensor, weight: Tensor) -> Tensor:
    """Return the proximal map of total variation ``(rows, d)``, for weights ``(rows,)``, in O(d) time per row."""
    from strukt.kernels.fusedmax_oscarmax import gpu_variation  # needs Triton

    rows, d = scores.shape
    result = torch.empty_like(scores, memory_format=torch.contiguous_format)
    programs = min(-(-rows // ROWS), MOST_ON_GPU // _workspace(scores))
    workspace = scores.new_empty(programs, NUMBERS, d, ROWS, dtype=torch.float64)
    arrays = scores.detach().contiguous(), weight.detach().double().contiguous(), result, workspace
    with device_of(scores):
        launcher(gpu_variation.variation, (programs,))(*arrays, rows, d, ROWS, num_warps=1)
    return result


def _workspace(scores: Tensor) -> int:
    """Return the bytes of a program's workspace."""
    return 8 * NUMBERS * scores.shape[1] * ROWS
