"""The Matrix-Tree theorem on GPUs: one launch for each of the questions, for items of all lengths.

`gpu_elimination` describes the algorithm. The chart of an item holds its factors: mantissas ``(n, n + 1)``, the
scores of the words' best heads ``(n,)``, and exponents ``(n, n + 1)`` of 32 bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

TILE = {"R": 32, "C": 64}
"""The rows and columns of a matrix that a program works on at a time."""

any_scores = True
"""True: scores of any size are exact, so that none must go to the reference."""


def fits(arcs: Tensor, *_: Any) -> bool:
    """Return True if there are arcs; see `strukt.kernels.dispatch`."""
    return arcs.numel() > 0


def chart_shape(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[int, int]:
    """Return the shape of the chart, ``(batch, ...)``, as memory of float64."""
    batch, n, heads = arcs.shape
    return batch, n * heads + n + n * heads // 2


def inside(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return log-partition ``(batch,)`` and chart; time O(n^3) an item, in n steps."""
    from strukt.structures.non_projective_tree import gpu_kernels  # needs Triton

    chart, result = _matrices(arcs), arcs.new_empty(len(arcs))
    _launch(gpu_kernels.inside, arcs, lengths, single_root, *_as_numbers(chart), result)
    return result, chart


def outside(arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """Return the probability of each arc, times the weight of its item, in the shape of ``arcs``; time O(n^3)."""
    from strukt.structures.non_projective_tree import gpu_kernels

    result, matrices = arcs.new_empty(arcs.shape), (*_as_numbers(chart), *_as_numbers(_matrices(arcs)))
    _launch(gpu_kernels.outside, arcs, lengths, single_root, *matrices, weights.contiguous(), result)
    return result


def derivative(
    arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, direction: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return gradients of <`outside`, direction> in the scores and in the weights; time O(n^3) an item."""
    from strukt.structures.non_projective_tree import gpu_kernels

    grads, weights_grad = arcs.new_empty(arcs.shape), weights.new_empty(weights.shape)
    matrices = (*_as_numbers(_matrices(arcs)), *_as_numbers(_matrices(arcs)))
    changes = arcs.new_empty(2, *arcs.shape, dtype=torch.float64)
    _launch(
        gpu_kernels.derivative, arcs, lengths, single_root, chart.contiguous(), weights.contiguous(),
        direction.contiguous(), *matrices, changes, grads, weights_grad,
    )  # fmt: skip
    return grads, weights_grad


def _matrices(arcs: Tensor) -> Tensor:
    """Allocate memory for a matrix of numbers for each item, as large as the chart."""
    batch, n, heads = arcs.shape
    return arcs.new_empty(batch, n * heads + n + n * heads // 2, dtype=torch.float64)


def _as_numbers(memory: Tensor) -> tuple[Tensor, Tensor]:
    """Return a memory of matrices for their mantissas and for their exponents."""
    memory = memory.contiguous()
    return memory, memory.view(torch.int32)


def _launch(kernel: Any, arcs: Tensor, lengths: Tensor, single_root: bool, *more: Tensor) -> None:
    """Launch a kernel with a program for each item; no pipelining, since loops read what they have written."""
    batch, n, _ = arcs.shape
    with torch.cuda.device_of(arcs):  # type: ignore[no-untyped-call]
        kernel[(batch,)](
            arcs.detach().contiguous(), lengths.contiguous(), *more, n, single_root, **TILE, num_warps=8,
            num_stages=1,
        )  # fmt: skip
