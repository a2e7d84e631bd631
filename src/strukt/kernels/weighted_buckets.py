"""Bilinear scores of pairs of positions whose terms are weighed by their distance.

With rows A and B, weights w of each term for each bucket of distances, and numbers W of pairs i, j, all functions
here are derivatives of one form,

    sum_ij W_ij sum_l A_il w_f(i-j),l B_jl.

Buckets are those of
`strukt.kernels.distance_buckets`; of them all the rows are the same, so that none is made for each bucket.
"""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.distance_buckets import Buckets, along, area
from strukt.kernels.multilinear import derivative


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
    return derivative(_FORM, 0, (left, right, weights), buckets)


def gathered(pairs: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The derivative by A, ``(batch, n, h, r)``: the sum of the rows of all j, weighed by the pairs."""
    return derivative(_FORM, 1, (pairs, right, weights), buckets)


def scattered(pairs: Tensor, left: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The derivative by B, ``(batch, n, h, r)``: the sum of the rows of all i, weighed by the pairs."""
    return derivative(_FORM, 2, (pairs, left, weights), buckets)


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


_FORM = (_of_pairs, _of_left, _of_right, _of_weights)
"""The derivatives of the form above by W, A, B and w."""


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
