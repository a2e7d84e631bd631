"""Launches of the kernels for chains whose matrices do not fit into registers: log-partition, marginals, mode."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.engine.gpu.precision import input_precision
from strukt.structures.linear_chain.gpu_arguments import (
    Matrices,
    chart_shape,
    matrices_of,
    of_groups,
    padded,
    views_of,
)

__all__ = ["MOST", "best", "chart_shape", "inside", "outside"]

MOST = 1024
"""The most tags: a vector of one number per tag is kept in registers."""

TILE = 1 << 15
"""The size in bytes of a tile of a matrix."""

PAIRS = 32
"""The number of rows and of columns of a tile of expected pairs, and of extended numbers."""


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n c^2) per item."""
    from strukt.structures.linear_chain import gpu_tiles  # needs Triton

    chart = unary.new_empty(chart_shape(unary, transition, lengths), dtype=torch.float64)
    result, matrices = unary.new_empty(len(unary)), matrices_of(unary, transition, lengths)
    highest, least = _measured(transition, matrices)
    with device_of(unary):
        launcher(gpu_tiles.inside, (len(unary),))(
            unary.contiguous(), *matrices, highest, least, highest.shape[1], int(matrices.per_step),
            *views_of(chart, unary), result, *unary.shape[1:], TILE=PAIRS, **_sizes(unary),
        )  # fmt: skip
    return result, chart


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of tags and of transitions, times ``weights (batch,)``, in the shapes of the scores."""
    from strukt.structures.linear_chain import gpu_tiles  # needs Triton

    (batch, n, c), groups, steps = unary.shape, *transition.shape[:2]
    tags = torch.empty_like(unary, memory_format=torch.contiguous_format)
    pairs = unary.new_empty(batch, steps, c, c)
    messages, powers = unary.new_empty(batch, max(n, 2), c), lengths.new_empty(batch, 2, c, dtype=torch.int32)
    matrices, factors = matrices_of(unary, transition, lengths), weights.contiguous()
    highest, _ = _measured(transition, matrices)
    views = views_of(chart.contiguous(), unary)
    with device_of(unary):
        launcher(gpu_tiles.outside, (batch,))(
            unary.contiguous(), *matrices, highest, steps, int(matrices.per_step), *views, messages, powers,
            factors, tags, pairs, 0 if steps == 1 else c * c, n, c, SEPARATE=steps != 1, TILE=PAIRS,
            **_sizes(unary),
        )  # fmt: skip
        if steps == 1:
            launcher(gpu_tiles.add_pairs, (batch, -(-c // PAIRS), -(-c // PAIRS)))(
                matrices.scores, matrices.group_step, matrices.lengths, matrices.sharing, highest, *views,
                messages, factors, pairs, n, c, B=PAIRS, PRECISION=input_precision(), num_stages=3,
            )  # fmt: skip
    return tags, of_groups(pairs, groups)


def best(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best tags ``(batch, n)`` and their score (Viterbi 1967); time O(n c^2) per item."""
    from strukt.structures.linear_chain import gpu_tiles, gpu_viterbi  # needs Triton

    batch, n, c = unary.shape
    ways, score = unary.new_empty(batch, n, c), unary.new_empty(batch)
    tags = lengths.new_empty(batch, n, dtype=torch.int64)
    matrices, sizes = matrices_of(unary, transition, lengths), _sizes(unary)
    with device_of(unary):
        launcher(gpu_tiles.viterbi, (batch,))(unary.contiguous(), *matrices, ways, score, n, c, **sizes)
        launcher(gpu_viterbi.walk, (batch,))(*matrices, ways, score, tags, n, c, C=sizes["C"], num_warps=4)
    return tags, score


def _measured(transition: Tensor, matrices: Matrices) -> tuple[Tensor, Tensor]:
    """Return the highest score and the `gpu_weights.spread` of each matrix, both ``(groups, steps)``."""
    from strukt.structures.linear_chain import gpu_tiles  # needs Triton

    groups, steps, c = transition.shape[:3]
    highest, least = transition.new_empty(groups, steps), transition.new_empty(groups, steps)
    with device_of(transition):
        launcher(gpu_tiles.measure, (groups * steps,))(*matrices[:3], steps, highest, least, c, B=1024)
    return highest, least


def _sizes(unary: Tensor) -> dict[str, int]:
    """Return the compile-time constants of the kernels."""
    size = padded(unary.shape[2])
    depth = max(TILE // (size * unary.element_size()), 8)
    return {"C": size, "K": depth, "num_warps": 8}  # more warps have too few registers each
