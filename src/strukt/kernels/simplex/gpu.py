"""Maps to the simplex on a GPU, and their derivatives: one launch each, of kernels in Triton."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from strukt.kernels.constants import number
from strukt.kernels.simplex.derivatives import MOST

HELD = 1 << 17
"""The most bytes of a row in the registers of a program, half of all that a multiprocessor has."""

TILE = 1 << 15
"""The bytes of a tile of a longer row, which is read again in each pass."""

SHORT = 512
"""The entries of a program that takes several rows."""

COMPILED = (1.5, 2.0)
"""The values of alpha for which there are kernels of their own."""


class Tiles(NamedTuple):
    """The shape of a program, as kernels take it: whether it holds whole rows, its rows, and entries of each."""

    held: bool
    rows: int
    entries: int

    @classmethod
    def of(cls, d: int, bytes_each: int, shared: bool) -> Tiles:
        """Return tiles for rows of d entries, several for a program only if they share their alpha."""
        size = max(1 << (d - 1).bit_length(), 16)
        if size * bytes_each > HELD:
            return cls(False, 1, TILE // bytes_each)
        return cls(True, max(SHORT // size, 1) if shared else 1, size)


def fits(scores: Tensor, *others: Tensor) -> bool:
    """Return True if there are scores, of single or double precision; see `strukt.kernels.dispatch`."""
    return scores.numel() > 0 and scores.dtype in (torch.float32, torch.float64)


def entmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """Return probabilities ``(rows, d)`` for an alpha above 0 for each row; rows of only -inf become zeros."""
    from strukt.kernels.simplex import gpu_forward  # needs Triton

    tolerance = 2.0 * torch.finfo(scores.dtype).eps
    return _launch(gpu_forward.entmax, (scores,), alpha, scores.element_size(), tolerance)


def pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """Return the Jacobian of entmax times a direction, ``(rows, d)``."""
    from strukt.kernels.simplex import gpu_backward

    log_most = MOST * math.log(torch.finfo(probabilities.dtype).max)
    given = direction.to(probabilities.dtype), probabilities
    return _launch(gpu_backward.pull, given, alpha, 2 * probabilities.element_size(), log_most)


def _launch(
    kernel: Any, given: tuple[Tensor, ...], alpha: Tensor, bytes_each: int, constant: float
) -> Tensor:
    """Return a new tensor that a kernel writes from others of its shape.

    Args:
        kernel: A kernel of `gpu_forward` or `gpu_backward`.
        given: The tensors ``(rows, d)``.
        alpha: ``(rows,)``.
        bytes_each: The bytes in registers for each entry.
        constant: Another number for which the kernel is compiled.
    """
    rows, d = given[0].shape
    known = number(alpha)
    stride = 0 if known is not None else alpha.stride(0)
    result = torch.empty_like(given[0], memory_format=torch.contiguous_format)
    tiles = Tiles.of(d, bytes_each, stride == 0)
    warps = min(max(tiles.rows * tiles.entries * bytes_each // 2048, 1), 16)
    with torch.cuda.device_of(result):  # type: ignore[no-untyped-call]
        kernel[(-(-rows // tiles.rows),)](
            *(each.detach().contiguous() for each in given), alpha.detach(), result, rows, d,
            stride, known if known in COMPILED else 0.0, constant, *tiles, num_warps=warps,
        )  # fmt: skip
    return result
