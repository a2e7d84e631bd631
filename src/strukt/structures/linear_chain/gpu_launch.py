"""Launches of the linear chain's kernels for GPUs: log-partition, marginals and mode of chains of any size.

Each kernel runs one program for each item, whatever the items' lengths. Numbers are plain floats, divided by a
power of two at each position; an item that could underflow is computed again by the same program in extended
numbers. The chart holds the sums over ways to each tag, and the kind of their numbers.

Time O(n c^2) an item: n steps, each a product of a matrix in registers and a vector.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.available import device_of

any_scores = True
"""True, since scores of any size are exact; see `strukt.kernels.engine.gpu.backend.Gpu`."""

LARGEST = 1 << 16
"""The most bytes of a matrix of weights in registers."""

WARPS = {8: 1, 16: 1, 32: 1, 64: 2, 128: 8}
"""The number of warps by the size of a matrix: with one warp, sums over tags need no barriers."""


def fits(unary: Tensor, transition: Tensor, lengths: Tensor, *_: Any) -> bool:
    """Return True if a matrix of weights fits into registers; see `strukt.kernels.dispatch`."""
    single = unary.dtype in (torch.float32, torch.float64)
    return unary.numel() > 0 and single and _padded(unary.shape[2]) ** 2 * unary.element_size() <= LARGEST


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int]:
    """Return the shape of the chart as memory of float64; see `gpu_forward.chart_of`."""
    batch, n, c = unary.shape
    return batch, 1 + n + n * c * (1 if unary.dtype == torch.float32 else 2)


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n c^2) an item."""
    from strukt.structures.linear_chain import gpu_forward  # needs Triton

    chart = unary.new_empty(chart_shape(unary, transition, lengths), dtype=torch.float64)
    result = unary.new_empty(len(unary))
    scores, pairs, sizes = _given(unary, transition, lengths)
    with device_of(unary):
        gpu_forward.inside[(len(unary),)](
            scores, *pairs, *_views(chart, unary), result, *unary.shape[1:], TILE=min(sizes["C"], 32), **sizes
        )
    return result, chart


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return expected tags ``(batch, n, c)`` and transitions, times ``weights``, in the shapes of the scores."""
    from strukt.structures.linear_chain import gpu_backward  # needs Triton

    (batch, n, c), groups, steps = unary.shape, *transition.shape[:2]
    tags = torch.empty_like(unary, memory_format=torch.contiguous_format)
    pairs = unary.new_empty(batch, steps, c, c)
    messages, powers = unary.new_empty(batch, 2, c), unary.new_empty(batch, 2, c, dtype=torch.int32)
    scores, matrices, sizes = _given(unary, transition, lengths)
    with device_of(unary):
        gpu_backward.outside[(batch,)](
            scores, *matrices, *_views(chart.contiguous(), unary), messages, powers, weights.contiguous(), tags,
            pairs, 0 if steps == 1 else c * c, n, c, SEPARATE=steps != 1, TILE=min(sizes["C"], 32), **sizes,
        )  # fmt: skip
    return tags, pairs if groups == batch else pairs.view(groups, batch // groups, steps, c, c).sum(1)


def best(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best tags ``(batch, n)`` and their score (Viterbi 1967); time O(n c^2) an item."""
    from strukt.structures.linear_chain import gpu_viterbi  # needs Triton

    batch, n, c = unary.shape
    ways, score = unary.new_empty(batch, n, c), unary.new_empty(batch)
    tags = lengths.new_empty(batch, n, dtype=torch.int64)
    scores, pairs, sizes = _given(unary, transition, lengths)
    with device_of(unary):
        gpu_viterbi.inside[(batch,)](scores, *pairs, ways, score, n, c, **sizes)
        gpu_viterbi.walk[(batch,)](*pairs, ways, score, tags, n, c, C=sizes["C"], num_warps=1)
    return tags, score


def _given(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Any, ...], dict[str, Any]]:
    """Return scores of tags, those of pairs with what belongs to them, and constants, as kernels take them."""
    (batch, _, c), (groups, steps) = unary.shape, transition.shape[:2]
    if transition.stride()[2:] != (c, 1):
        transition = transition.contiguous()
    group_step, step = transition.stride()[:2]
    step = step if steps > 1 else 0
    pairs = (transition, group_step, step, lengths.contiguous(), batch // max(groups, 1))
    size = _padded(c)
    sizes = {"column": 1, "PER_STEP": step != 0, "C": size, "num_warps": WARPS[size], "num_stages": 1}
    return unary.contiguous(), pairs, sizes


def _views(chart: Tensor, like: Tensor) -> tuple[Tensor, Tensor, int]:
    """Return a chart as numbers, as int32, and its width in these."""
    return chart.view(like.dtype), chart.view(torch.int32), 2 * chart.shape[1]


def _padded(c: int) -> int:
    """Return the next power of two, at least 8."""
    return max(8, 1 << (c - 1).bit_length())
