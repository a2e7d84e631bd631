"""Launches of kernels for chains whose matrices fit into registers: log-partition, marginals and mode.

Each kernel runs one program for each item, whatever the items' lengths. Numbers are plain floats, divided by a
power of two at each position. If an item could underflow, the same program computes it again in extended numbers.
The chart holds the forward sum of each tag at each position, and a mark for the kind of its numbers.

Time O(n c^2) per item: n steps, each of which multiplies a matrix in registers by a vector.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.structures.linear_chain.gpu_arguments import (
    Matrices,
    chart_shape,
    matrices_of,
    of_groups,
    padded,
    views_of,
)

__all__ = ["best", "chart_shape", "inside", "outside"]

OF_WARP = 1 << 12
"""The most bytes of a matrix in the registers of a warp, 32 registers per thread; with more, the compiler would
move other values to memory."""

TILE = 16
"""The most rows and columns of a tile of extended numbers, beside which the matrix stays in registers."""


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n c^2) per item."""
    from strukt.structures.linear_chain import gpu_forward  # needs Triton

    chart = unary.new_empty(chart_shape(unary, transition, lengths), dtype=torch.float64)
    result = unary.new_empty(len(unary))
    scores, pairs, sizes = _inputs(unary, transition, lengths)
    with device_of(unary):
        launcher(gpu_forward.inside, (len(unary),))(
            scores,
            *pairs,
            *views_of(chart, unary),
            result,
            *unary.shape[1:],
            TILE=min(sizes["C"], TILE),
            **sizes,
        )
    return result, chart


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of tags and of transitions, times ``weights (batch,)``, in the shapes of the scores."""
    from strukt.structures.linear_chain import gpu_backward  # needs Triton

    (batch, n, c), groups, steps = unary.shape, *transition.shape[:2]
    tags = torch.empty_like(unary, memory_format=torch.contiguous_format)
    pairs = unary.new_empty(batch, steps, c, c)
    messages, powers = unary.new_empty(batch, 2, c), unary.new_empty(batch, 2, c, dtype=torch.int32)
    scores, matrices, sizes = _inputs(unary, transition, lengths)
    with device_of(unary):
        launcher(gpu_backward.outside, (batch,))(
            scores, *matrices, *views_of(chart.contiguous(), unary), messages, powers, weights.contiguous(), tags,
            pairs, 0 if steps == 1 else c * c, n, c, SEPARATE=steps != 1, TILE=min(sizes["C"], TILE), **sizes,
        )  # fmt: skip
    return tags, of_groups(pairs, groups)


def best(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best tags ``(batch, n)`` and their score (Viterbi 1967); time O(n c^2) per item."""
    from strukt.structures.linear_chain import gpu_viterbi  # needs Triton

    batch, n, c = unary.shape
    ways, score = unary.new_empty(batch, n, c), unary.new_empty(batch)
    tags = lengths.new_empty(batch, n, dtype=torch.int64)
    scores, pairs, sizes = _inputs(unary, transition, lengths)
    with device_of(unary):
        launcher(gpu_viterbi.inside, (batch,))(scores, *pairs, ways, score, n, c, **sizes)
        launcher(gpu_viterbi.walk, (batch,))(*pairs, ways, score, tags, n, c, C=sizes["C"], num_warps=1)
    return tags, score


def _inputs(
    unary: Tensor, transition: Tensor, lengths: Tensor
) -> tuple[Tensor, Matrices, dict[str, Any]]:
    """Return the scores of tags, the scores of pairs as `Matrices`, and the constants of a launch."""
    pairs, size = matrices_of(unary, transition, lengths), padded(unary.shape[2])
    warps = max(size * size * unary.element_size() // OF_WARP, 1)  # with one, sums over tags need no barriers
    sizes = {"column": 1, "PER_STEP": pairs.per_step, "C": size, "num_warps": warps}
    return unary.contiguous(), pairs, sizes
