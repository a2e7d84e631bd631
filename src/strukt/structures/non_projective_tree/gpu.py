"""The Matrix-Tree theorem on GPUs: one launch for each operator, for items of all lengths.

`gpu_elimination` describes the algorithm. The chart of an item holds its factors: mantissas ``(n, n + 1)``, the
scores of the words' best heads ``(n,)``, and exponents ``(n, n + 1)`` of 32 bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.available import device_of

any_scores = True
"""True: scores of any size are exact, so that none must go to the reference."""


def fits(arcs: Tensor, *_: Any) -> bool:
    """Return True if there are arcs; see `strukt.kernels.dispatch`."""
    return arcs.numel() > 0


def chart_shape(arcs: Tensor, *_: Any) -> tuple[int, int]:
    """Return the shape of the chart, ``(batch, ...)``, as memory of float64."""
    batch, n, heads = arcs.shape
    return batch, n * heads + n + n * heads // 2


def inside(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return log-partition ``(batch,)`` and chart; time O(n^3) per item, in n steps."""
    chart, result = _matrices(arcs), arcs.new_empty(len(arcs))
    _launch("inside", arcs, lengths, single_root, *_as_numbers(chart), result)
    return result, chart


def outside(arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """Return the probability of each arc, times the weight of its item, in the shape of ``arcs``; time O(n^3)."""
    result, matrices = arcs.new_empty(arcs.shape), (*_as_numbers(chart), *_as_numbers(_matrices(arcs)))
    _launch("outside", arcs, lengths, single_root, *matrices, weights.contiguous(), result)
    return result


def derivative(
    arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, direction: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return gradients of <`outside`, direction> with respect to scores and weights; time O(n^3) per item."""
    return _derivative(arcs, lengths, single_root, weights, direction.contiguous())


def entropy(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the entropy ``(batch,)`` in nats; time O(n^3) per item."""
    result, changes = arcs.new_empty(len(arcs)), arcs.new_empty(arcs.shape, dtype=torch.float64)
    _launch("entropy", arcs, lengths, single_root, *_as_numbers(_matrices(arcs)), changes, result)
    return result


def entropy_gradient(arcs: Tensor, lengths: Tensor, single_root: bool, factors: Tensor) -> Tensor:
    """Return the gradient of the entropies times factors ``(batch,)``, in the shape of ``arcs``."""
    return _derivative(arcs, lengths, single_root, factors, None)[0]


def _derivative(
    arcs: Tensor, lengths: Tensor, single_root: bool, factors: Tensor, direction: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the derivative of marginals times factors along a direction; None for the costs of arcs."""
    grads, growth = arcs.new_empty(arcs.shape), factors.new_empty(factors.shape)
    matrices = (*_as_numbers(_matrices(arcs)), *_as_numbers(_matrices(arcs)))
    changes = arcs.new_empty(2, *arcs.shape, dtype=torch.float64)
    given = direction, factors.contiguous()
    _launch("derivative", arcs, lengths, single_root, *given, *matrices, changes, grads, growth)
    return grads, growth


def _matrices(arcs: Tensor) -> Tensor:
    """Allocate a matrix of numbers and the scores of best heads for each item, as in the chart."""
    return arcs.new_empty(chart_shape(arcs), dtype=torch.float64)


def _as_numbers(memory: Tensor) -> tuple[Tensor, Tensor]:
    """Return a memory of matrices for their mantissas and for their exponents."""
    memory = memory.contiguous()
    return memory, memory.view(torch.int32)


def _launch(name: str, arcs: Tensor, lengths: Tensor, single_root: bool, *more: Tensor | None) -> None:
    """Launch a kernel with a program for each item; no pipelining, since loops read what they have written.

    A program works on tiles of 32 rows and 64 columns of a matrix: larger ones would not fit into registers.
    """
    from strukt.structures.non_projective_tree import gpu_matrix_tree  # needs Triton

    batch, n, _ = arcs.shape
    with device_of(arcs):
        getattr(gpu_matrix_tree, name)[(batch,)](
            arcs.detach().contiguous(), lengths.contiguous(), *more, n, single_root, 32, 64, num_warps=16,
            num_stages=1,
        )  # fmt: skip
