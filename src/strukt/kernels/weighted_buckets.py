"""Bilinear scores of pairs of positions whose terms are weighed by their distance.

With rows A and B, weights w of each term for each bucket of distances, and numbers W of pairs i, j, all functions
here are derivatives of one form,

    sum_ij W_ij sum_l A_il w_f(i-j),l B_jl,

of which one argument is left out. So are their derivatives, of any order. Buckets are those of
`strukt.kernels.distance_buckets`; of them all the rows are the same, so that none is made for each bucket.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.distance_buckets import Buckets, along, area

PAIRS, LEFT, RIGHT, WEIGHTS = range(4)


def scores(left: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The derivative by W: the score of each pair.

    Args:
        left: A, ``(batch, n, h, r)``.
        right: B, ``(batch, n, h, r)``.
        weights: w, ``(f, h, r)``.
        buckets: Of distances.

    Returns:
        ``(batch, h, n, n)``; O(n^2 h r) time.
    """
    return _without(PAIRS, None, left, right, weights, buckets)


def gathered(pairs: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The derivative by A, ``(batch, n, h, r)``: the sum of the rows of all j, weighed by the pairs."""
    return _without(LEFT, pairs, None, right, weights, buckets)


def scattered(pairs: Tensor, left: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The derivative by B, ``(batch, n, h, r)``: the sum of the rows of all i, weighed by the pairs."""
    return _without(RIGHT, pairs, left, None, weights, buckets)


def _without(missing: int, *given: Any) -> Tensor:
    found: Tensor = _Derivative.apply(missing, *given)  # type: ignore[no-untyped-call]
    return found


class _Derivative(torch.autograd.Function):
    """The derivative of the form by the one of its four arguments that is missing."""

    @staticmethod
    def forward(
        missing: int,
        pairs: Tensor | None,
        left: Tensor | None,
        right: Tensor | None,
        weights: Tensor | None,
        buckets: Buckets,
    ) -> Tensor:
        given: Any = (pairs, left, right, weights)
        return _DERIVATIVES[missing](*(part for part in given if part is not None), buckets)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        del output
        ctx.missing, *given, ctx.buckets = inputs
        ctx.save_for_backward(*given)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        whole = [grad if number == ctx.missing else part for number, part in enumerate(ctx.saved_tensors)]
        found: list[Tensor | None] = [None] * 4
        for number in range(4):
            if number != ctx.missing and ctx.needs_input_grad[1 + number]:
                others = [None if number == other else part for other, part in enumerate(whole)]
                found[number] = _without(number, *others, ctx.buckets)
        return (None, *found, None)


def _of_pairs(left: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    batch, n, channels, _ = left.shape
    found = left.new_zeros(batch, channels, n, n)
    columns = right.permute(0, 2, 3, 1)
    for place, offset in buckets.areas(n):
        found.add_(area((left * weights[place]).transpose(1, 2) @ columns, offset))
    for place, offset in buckets.diagonals(n):
        first, second = along(left, right, offset)
        found.diagonal(offset, -2, -1).add_((first * second).mul_(weights[place]).sum(-1).mT)
    return found


def _of_left(pairs: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    return _sums(pairs, right, weights, buckets, 1)


def _of_right(pairs: Tensor, left: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    return _sums(pairs.mT, left, weights, buckets, -1)


def _of_weights(pairs: Tensor, left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    _, n, channels, rank = left.shape
    found = left.new_zeros(buckets.places, channels, rank)
    rows = right.transpose(1, 2)
    for place, offset in buckets.areas(n):
        reached = (area(pairs, offset) @ rows).transpose(1, 2)
        found[place] = (reached * left).sum((0, 1))
    for place, offset in buckets.diagonals(n):
        first, second = along(left, right, offset)
        on_diagonal = pairs.diagonal(offset, -2, -1).mT.unsqueeze(-1)
        found[place] = (first * second).mul_(on_diagonal).sum((0, 1))
    return found


_DERIVATIVES: tuple[Callable[..., Tensor], ...] = (_of_pairs, _of_left, _of_right, _of_weights)


def _sums(pairs: Tensor, rows: Tensor, weights: Tensor, buckets: Buckets, sign: int) -> Tensor:
    """For each position the rows of the others, weighed by pairs and weights; j - i has the sign."""
    n = rows.shape[1]
    found = rows.new_zeros(rows.shape)
    others = rows.transpose(1, 2)
    for place, offset in buckets.areas(n):
        found.addcmul_((area(pairs, offset, sign) @ others).transpose(1, 2), weights[place])
    for place, offset in buckets.diagonals(n):
        into, other = along(found, rows, sign * offset)
        on_diagonal = pairs.diagonal(sign * offset, -2, -1).mT.unsqueeze(-1)
        into.addcmul_(other * weights[place], on_diagonal)
    return found
