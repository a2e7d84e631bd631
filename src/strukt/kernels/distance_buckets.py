"""Bilinear scores of pairs of positions that depend on their distance, without a table for each distance.

Distances i - j fall into buckets (`Buckets`): one on either side for distances larger than g, and one for each of
the 2g distances from -g to g without 0. So the pairs of a bucket are a triangle or a diagonal, and only two
triangles and 2g diagonals of products of rows are computed. Rows are ``(batch, n, f, h, r)`` for f places of
buckets, h channels and r terms of a product. The three operations here are each other's derivatives, any number of
times; no tensor larger than ``(batch, h, n, n)`` is stored.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels import all_pairs, triangles
from strukt.kernels.autograd import is_plain
from strukt.kernels.buckets import Buckets
from strukt.kernels.multilinear import derivative


def scores(left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Return, for each pair i, j, the product of left row i and right row j, summed over the places of the pair.

    Args:
        left: ``(batch, n, f, h, r)``.
        right: ``(batch, n, f, h, r)``.
        buckets: The places of pairs.

    Returns:
        ``(batch, h, n, n)``; O(n^2 h r) time.

    Examples:
        >>> left = torch.tensor([1.0, 10.0, 20.0, 2.0]).reshape(4, 1, 1).expand(1, 3, 4, 1, 1)
        >>> scores(left, torch.ones(1, 3, 4, 1, 1), Buckets(1, shared=False))[0, 0]
        tensor([[ 0., 10.,  1.],
                [20.,  0., 10.],
                [ 2., 20.,  0.]])
    """
    if not is_plain():
        return all_pairs.scores(left, right, buckets)
    return derivative(_FORM, 0, (left, right), buckets)


def gathered(weights: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Return, for each position i and place, the sum over its pairs i, j of right row j times the weight of i, j.

    Args:
        weights: ``(batch, h, n, n)``.
        right: ``(batch, n, f, h, r)``.
        buckets: The places of pairs.

    Returns:
        ``(batch, n, f, h, r)``; O(n^2 h r) time.
    """
    if not is_plain():
        return all_pairs.gathered(weights, right, buckets)
    return derivative(_FORM, 1, (weights, right), buckets)


def scattered(weights: Tensor, left: Tensor, buckets: Buckets) -> Tensor:
    """Return, for each position j and place, the sum over its pairs i, j of left row i times the weight of i, j.

    Args:
        weights: ``(batch, h, n, n)``.
        left: ``(batch, n, f, h, r)``.
        buckets: The places of pairs.

    Returns:
        ``(batch, n, f, h, r)``; O(n^2 h r) time.
    """
    if not is_plain():
        return all_pairs.scattered(weights, left, buckets)
    return derivative(_FORM, 2, (weights, left), buckets)


def _scores(left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Compute `scores`, without derivatives: products of triangles, of all pairs, and of diagonals."""
    batch, n, _, channels, _ = left.shape
    if (distant := buckets.triangles(n)) is None:
        result = left.new_zeros(batch, channels, n, n)
    else:
        above, below = ((left[:, :, place], right[:, :, place]) for place in distant)
        result = buckets.clear_near(triangles.products(above, below))
    if (shared := buckets.for_all) is not None:
        result.add_(left[:, :, shared].transpose(1, 2) @ right[:, :, shared].permute(0, 2, 3, 1))
    for place, offset in buckets.diagonals(n):
        first, second = along(left[:, :, place], right[:, :, place], offset)
        result.diagonal(offset, -2, -1).add_((first * second).sum(-1).mT)
    return result


def _gathered(weights: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Compute `gathered`, without derivatives."""
    return _sums(weights, right, buckets, 1)


def _scattered(weights: Tensor, left: Tensor, buckets: Buckets) -> Tensor:
    """Compute `scattered`, without derivatives."""
    return _sums(weights.mT, left, buckets, -1)


_FORM = (_scores, _gathered, _scattered)
"""The derivatives of sum_ij weights_ij sum_f left_if right_jf with respect to weights, left and right."""


def _sums(weights: Tensor, rows: Tensor, buckets: Buckets, sign: int) -> Tensor:
    """Return, for each place, the sums of rows weighted by its pairs, ``(batch, n, f, h, r)``.

    ``weights`` are ``(batch, h, n, n)``, indexed i, j if ``sign`` is 1, and j, i if it is -1.
    """
    n = rows.shape[1]
    result = rows.new_zeros(rows.shape)
    if (distant := buckets.triangles(n)) is not None:
        places = distant[::sign]
        of_places = triangles.sums(
            buckets.clear_near(weights.clone()), *(rows[:, :, place] for place in places)
        )
        for place, of_place in zip(places, of_places, strict=True):
            result[:, :, place] = of_place
    if (shared := buckets.for_all) is not None:
        result[:, :, shared] = (weights @ rows[:, :, shared].transpose(1, 2)).transpose(1, 2)
    for place, offset in buckets.diagonals(n):
        into, other = along(result[:, :, place], rows[:, :, place], sign * offset)
        torch.mul(weights.diagonal(sign * offset, -2, -1).mT.unsqueeze(-1), other, out=into)
    return result


def along(left: Tensor, right: Tensor, offset: int) -> tuple[Tensor, Tensor]:
    """Return rows i of one tensor and rows i + offset of the other, for all i for which both exist.

    Both tensors are ``(batch, n, ...)``, the results ``(batch, n - |offset|, ...)``.
    """
    n = left.shape[1] - abs(offset)
    return left.narrow(1, max(-offset, 0), n), right.narrow(1, max(offset, 0), n)
