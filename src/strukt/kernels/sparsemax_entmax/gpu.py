"""Maps to the simplex on a GPU, and their derivatives: one launch each, of kernels in Triton."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from strukt.kernels.constants import number
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.sparsemax_entmax.derivatives import MOST

REGISTERS = {torch.float32: 1, torch.float64: 4}
"""The number of registers for an entry, including those for work on it."""

FORWARD = {2.0: 1, 1.5: 1}
"""The values of alpha with a specialised forward kernel, and the factor by which it multiplies `REGISTERS`."""

BACKWARD = {2.0: 1, 1.5: 2}
"""The values of alpha with a specialised backward kernel, and the factor by which it multiplies `REGISTERS`."""

ANY = 4
"""The factor of the kernels for any other alpha, which compute powers."""

HELD = 1 << 15
"""The maximum number of registers for the entries of a row, half of those of a multiprocessor."""

TILE = 1 << 14
"""The number of registers for a tile of a longer row."""

BLOCK = 1 << 12
"""The most entries that the kernels of gains and residuals read at a time; they read each entry once."""

SHORT = 512
"""The most entries of a program that processes several rows."""

OF_WARP = 512
"""The number of registers of a warp that hold entries, unless that takes more than `MOST_WARPS`."""

MOST_WARPS = 16
"""The most warps of a program."""


class Tiles(NamedTuple):
    """The shape of a program: whether registers hold whole rows, the number of rows, and the entries of each."""

    held: bool
    rows: int
    entries: int


def fits(scores: Tensor, *others: Tensor) -> bool:
    """Return True if scores are float32 or float64, and no argument is empty; see `strukt.kernels.dispatch`."""
    return scores.dtype in REGISTERS and all(tensor.numel() > 0 for tensor in (scores, *others))


def entmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """Return probabilities ``(rows, d)`` for an alpha above 0 for each row; rows of only -inf become zeros."""
    from strukt.kernels.sparsemax_entmax import gpu_forward  # needs Triton

    return _launch(gpu_forward.entmax, FORWARD, (scores,), alpha, 2.0 * torch.finfo(scores.dtype).eps)


def pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """Return the Jacobian of entmax times a direction, ``(rows, d)``."""
    from strukt.kernels.sparsemax_entmax import gpu_backward

    log_most = MOST * math.log(torch.finfo(probabilities.dtype).max)
    return _launch(gpu_backward.pull, BACKWARD, (direction, probabilities), alpha, log_most)


def gain(scores: Tensor, points: Tensor, centres: Tensor, alpha: Tensor) -> Tensor:
    """Return the gain of each row's point ``(rows, d)`` at its scores, ``(rows,)`` in float64."""
    from strukt.kernels.sparsemax_entmax import gpu_gain

    rows, d = points.shape
    known, block = number(alpha), _block(d)
    result = torch.empty(rows, dtype=torch.float64, device=points.device)
    with device_of(result):
        launcher(gpu_gain.gain, (rows,))(
            scores.contiguous(), points.contiguous(), centres.contiguous(), alpha, result, d,
            alpha.stride(0) if known is None else 0, known if known in FORWARD else 0.0, block,
            num_warps=_warps(block),
        )  # fmt: skip
    return result


def residual(scale: Tensor, points: Tensor, target: Tensor) -> Tensor:
    """Return ``scale (points - target)``, ``(rows, d)``; scales are ``(rows,)``, targets points or classes."""
    from strukt.kernels.sparsemax_entmax import gpu_gain

    rows, d = points.shape
    block = _block(d)
    result = torch.empty_like(points, memory_format=torch.contiguous_format)
    with device_of(result):
        launcher(gpu_gain.residual, (rows, -(-d // block)))(
            scale.contiguous(), points.contiguous(), target.contiguous(), result, d,
            not target.is_floating_point(), block, num_warps=_warps(block * REGISTERS[points.dtype]),
        )  # fmt: skip
    return result


def _launch(
    kernel: Any, factors: dict[float, int], inputs: tuple[Tensor, ...], alpha: Tensor, constant: float
) -> Tensor:
    """Launch a kernel and return the tensor ``(rows, d)`` that it writes.

    Args:
        kernel: A kernel of `gpu_forward` or `gpu_backward`.
        factors: `FORWARD` or `BACKWARD`: the values of alpha for which the kernel can be compiled.
        inputs: The kernel's tensors ``(rows, d)``.
        alpha: ``(rows,)``, the exponents.
        constant: The kernel's TOLERANCE or LOG_MOST, for which it is compiled.
    """
    rows, d = inputs[0].shape
    known = number(alpha)
    stride = alpha.stride(0) if known is None else 0
    compiled = known if known in factors else 0.0
    result = torch.empty_like(inputs[-1], memory_format=torch.contiguous_format)
    tiles, warps = _tiles(d, REGISTERS[result.dtype] * factors.get(compiled, ANY), stride == 0)
    with device_of(result):
        launcher(kernel, (-(-rows // tiles.rows),))(
            *(each.detach().contiguous() for each in inputs), alpha.detach(), result, rows, d, stride, compiled,
            constant, *tiles, num_warps=warps,
        )  # fmt: skip
    return result


def _tiles(d: int, each: int, shared: bool) -> tuple[Tiles, int]:
    """Return the shape and the number of warps of a program.

    Args:
        d: The number of entries of a row.
        each: The number of registers of an entry.
        shared: Whether all rows share one alpha, so that a program can process several rows.
    """
    size = _power_of_two(d)
    held = size * each <= HELD
    tiles = Tiles(held, max(SHORT // size, 1) if shared else 1, size if held else TILE // each)
    return tiles, _warps(tiles.rows * tiles.entries * each)


def _block(d: int) -> int:
    """Return the number of entries of a row that a kernel of gains or residuals reads at a time."""
    return min(_power_of_two(d), BLOCK)


def _power_of_two(d: int) -> int:
    """Return the smallest power of two that is at least d and 16."""
    return max(1 << (d - 1).bit_length(), 16)


def _warps(registers: int) -> int:
    """Return the number of warps of a program whose entries take this number of registers."""
    return min(max(registers // OF_WARP, 1), MOST_WARPS)
