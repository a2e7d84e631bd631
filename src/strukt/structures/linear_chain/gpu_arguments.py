"""Charts and matrices of the linear chain, as its kernels for GPUs take them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

LARGEST = 1 << 16
"""The most bytes of a matrix of weights in registers."""


def in_registers(unary: Tensor) -> bool:
    """Return True if a matrix of weights fits into registers."""
    return padded(unary.shape[2]) ** 2 * unary.element_size() <= LARGEST


def padded(c: int) -> int:
    """Return the next power of two, at least 8."""
    return max(8, 1 << (c - 1).bit_length())


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int]:
    """Return the shape of the chart as memory of float64; see `gpu_forward.chart_of`."""
    batch, n, c = unary.shape
    return batch, 1 + n + n * c * (1 if unary.element_size() == 4 else 2)


def views_of(chart: Tensor, like: Tensor) -> tuple[Tensor, Tensor, int]:
    """Return a chart as numbers, as int32, and its width in these."""
    return chart.view(like.dtype), chart.view(torch.int32), 2 * chart.shape[1]


def matrices_of(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Any, ...]:
    """Return the scores of pairs, the strides of groups and of positions, lengths, and the items of a group.

    The stride of positions is 0 if they share a matrix.
    """
    (batch, _, c), (groups, steps) = unary.shape, transition.shape[:2]
    if transition.stride()[2:] != (c, 1):
        transition = transition.contiguous()
    group_step, step = transition.stride()[:2]
    return transition, group_step, step if steps > 1 else 0, lengths.contiguous(), batch // max(groups, 1)
