"""Launches of scans over long chains in forward mode: the gradient of marginals, entropies and their gradients.

The growth of a sum is the derivative of its log along a direction of the scores. An entropy is the expected
surprise of a sequence, so it is the growth of the log-partition along the surprises: see `gpu_scan_surprises`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.structures.linear_chain.gpu_arguments import matrices_of, views_of
from strukt.structures.linear_chain.gpu_launch_scan import (
    any_scores,
    best,
    blocks_of,
    chart_shape,
    fits,
    inside,
    of_steps,
    outside,
    rows_of,
    sizes_of,
)

__all__ = ["any_scores", "best", "chart_shape", "fits", "inside", "outside"]


def derivative(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, moves: Tensor, pair_moves: Tensor,
    chart: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of <`outside`, directions> with respect to ``unary``, ``transition`` and ``weights``.

    ``moves (batch, n, c)`` is the direction of the scores of tags, ``pair_moves (groups, steps, c, c)`` that of
    the scores of pairs.
    """
    from strukt.structures.linear_chain import gpu_scan_derivative  # needs Triton

    (batch, n, c), (groups, steps), blocks = unary.shape, transition.shape[:2], blocks_of(unary)
    separate, sizes = steps != 1, sizes_of(unary)
    grown = _grown(unary, transition, lengths, moves, pair_moves)
    tags = torch.empty_like(unary, memory_format=torch.contiguous_format)
    pairs = unary.new_empty(batch, steps if separate else blocks, c, c)
    with device_of(unary):
        launcher(gpu_scan_derivative.derivative, (batch, blocks))(
            *grown.inputs, *views_of(chart.contiguous(), unary), grown.borders,
            *_numbers(unary, batch, blocks, sizes["SIZE"] + 1, c), weights.contiguous(), tags, pairs,
            c * c if separate else 0, n, c, blocks, PER_STEP=grown.per_step, SEPARATE=separate, **sizes,
        )  # fmt: skip
    return tags, of_steps(pairs, steps, groups), grown.slopes


def entropy(unary: Tensor, transition: Tensor, lengths: Tensor) -> Tensor:
    """Return the entropy ``(batch,)`` in nats."""
    return surprise(unary, transition, unary, transition, lengths)


def entropy_gradient(
    unary: Tensor, transition: Tensor, lengths: Tensor, factors: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of the entropies with respect to both scores, times ``factors (batch,)``."""
    chart, moves = _surprises(unary, transition, lengths)
    return derivative(unary, transition, lengths, factors, *moves, chart)[:2]


def surprise(
    unary: Tensor, transition: Tensor, other_unary: Tensor, other_transition: Tensor, lengths: Tensor
) -> Tensor:
    """Return the cross-entropy ``(batch,)`` in nats: -E[log q], q the distribution of the other scores."""
    _, moves = _surprises(other_unary, other_transition, lengths)
    return _grown(unary, transition, lengths, *moves).slopes


def surprise_gradient(
    unary: Tensor, transition: Tensor, other_unary: Tensor, other_transition: Tensor, lengths: Tensor,
    factors: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the gradients of cross-entropies with respect to the first two scores, times ``factors (batch,)``."""
    _, chart = inside(unary, transition, lengths)
    _, moves = _surprises(other_unary, other_transition, lengths)
    return derivative(unary, transition, lengths, factors, *moves, chart)[:2]


class _Grown(NamedTuple):
    """The growths at the borders of blocks, and the arguments from which they were computed.

    Attributes:
        inputs: The scores and the directions, in the order in which kernels take them.
        per_step: Whether each position has its own matrix.
        borders: ``(batch, 2, blocks, c)``, the growth of each sum in `gpu_scan.borders_of`.
        slopes: ``(batch,)``, the derivative of each log-partition along the directions.
    """

    inputs: tuple[Any, ...]
    per_step: bool
    borders: Tensor
    slopes: Tensor


def _grown(unary: Tensor, transition: Tensor, lengths: Tensor, moves: Tensor, pair_moves: Tensor) -> _Grown:
    """Return the growths of the sums at the borders of blocks along directions of the scores."""
    from strukt.structures.linear_chain import gpu_scan_growth  # needs Triton

    (batch, n, c), blocks = unary.shape, blocks_of(unary)
    sizes, rows = sizes_of(unary), rows_of(unary)
    products, slopes = _numbers(unary, batch, blocks, c, c), unary.new_empty(batch)
    borders = unary.new_empty(batch, 2, blocks, c, dtype=torch.float64)
    matrices, directions = matrices_of(unary, transition, lengths), matrices_of(unary, pair_moves, lengths)
    strides = directions.group_step, directions.step, directions.sharing
    inputs = unary.contiguous(), *matrices, moves.contiguous(), directions.scores, *strides
    with device_of(unary):
        launcher(gpu_scan_growth.multiply_blocks, (batch, blocks, -(-c // rows)))(
            *inputs, *products, n, c, blocks, PER_STEP=matrices.per_step, ROWS=rows, **sizes
        )
        launcher(gpu_scan_growth.sweep, (batch, 2))(
            *products, matrices.lengths, borders, slopes, c, blocks, **sizes
        )
    return _Grown(inputs, matrices.per_step, borders, slopes)


def _surprises(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return the chart, and the surprises of tags ``(batch, n, c)`` and of pairs ``(batch, n - 1, c, c)``."""
    from strukt.structures.linear_chain import gpu_scan_surprises  # needs Triton

    (batch, n, c), blocks = unary.shape, blocks_of(unary)
    tags = torch.zeros_like(unary, memory_format=torch.contiguous_format)
    pairs = unary.new_empty(batch, n - 1, c, c)
    matrices, (_, chart) = matrices_of(unary, transition, lengths), inside(unary, transition, lengths)
    with device_of(unary):
        launcher(gpu_scan_surprises.surprises, (batch, blocks))(
            unary.contiguous(), *matrices, *views_of(chart, unary), tags, pairs, n, c, blocks,
            PER_STEP=matrices.per_step, **sizes_of(unary),
        )  # fmt: skip
    return chart, (tags, pairs)


def _numbers(unary: Tensor, *shape: int) -> tuple[Tensor, Tensor, Tensor]:
    """Allocate mantissas in the type of the scores, exponents in int32, and growths in float64, of a shape."""
    mantissas = unary.new_empty(shape)
    exponents = torch.empty_like(mantissas, dtype=torch.int32)
    return mantissas, exponents, torch.empty_like(mantissas, dtype=torch.float64)
