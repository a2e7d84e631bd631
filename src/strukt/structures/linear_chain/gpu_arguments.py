"""Charts and matrices of the linear chain, in the form that its GPU kernels expect."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

LARGEST = 1 << 15
"""The size in bytes up to which a matrix of weights is kept in registers."""


def is_known(unary: Tensor) -> bool:
    """Return True if there are any scores, and their type is one that kernels support."""
    return unary.numel() > 0 and unary.dtype in (torch.float32, torch.float64)


def in_registers(unary: Tensor) -> bool:
    """Return True if a matrix of weights fits into registers."""
    return padded(unary.shape[2]) ** 2 * unary.element_size() <= LARGEST


def padded(c: int) -> int:
    """Return the smallest power of two that is at least c and 8."""
    return max(8, 1 << (c - 1).bit_length())


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int]:
    """Return the shape of the chart as an array of float64; see `gpu_forward.chart_of` for its contents."""
    batch, n, c = unary.shape
    return batch, 1 + n + n * c * (1 if unary.element_size() == 4 else 2)


def views_of(chart: Tensor, like: Tensor) -> tuple[Tensor, Tensor, int]:
    """Return views of a chart in the type of ``like`` and as int32, and the number of int32 entries per item."""
    return chart.view(like.dtype), chart.view(torch.int32), 2 * chart.shape[1]


class Matrices(NamedTuple):
    """The scores of pairs of tags and the arguments that describe them, in the order in which kernels take them.

    Attributes:
        scores: ``(groups, steps, c, c)``.
        group_step: The stride from a group to the next.
        step: The stride from a position to the next; 0 if all positions share a matrix.
        lengths: ``(batch,)``.
        sharing: The number of items in a group, which share their matrices.
    """

    scores: Tensor
    group_step: int
    step: int
    lengths: Tensor
    sharing: int

    @property
    def per_step(self) -> bool:
        """True if each position has its own matrix."""
        return self.step != 0


def matrices_of(unary: Tensor, transition: Tensor, lengths: Tensor) -> Matrices:
    """Return the scores of pairs with their strides, and the lengths of items."""
    (batch, _, c), (groups, steps) = unary.shape, transition.shape[:2]
    if transition.stride()[2:] != (c, 1):
        transition = transition.contiguous()
    group_step, step = transition.stride()[:2]
    return Matrices(
        transition, group_step, step if steps > 1 else 0, lengths.contiguous(), batch // max(groups, 1)
    )


def of_groups(pairs: Tensor, groups: int) -> Tensor:
    """Return sums of ``pairs (batch, steps, c, c)`` over the items of each group: ``(groups, steps, c, c)``."""
    batch = len(pairs)
    return pairs if groups == batch else pairs.view(groups, batch // groups, *pairs.shape[1:]).sum(1)
