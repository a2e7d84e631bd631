"""Bilinear scores of pairs of positions whose terms are weighed by their distance.

With rows A and B, weights w of each term for each bucket of distances, and numbers W of pairs i, j, all functions
here are derivatives of one form,

    sum_ij W_ij sum_l A_il w_f(i-j),l B_jl.

Buckets are those of `strukt.kernels.distance_buckets`. Of them all the rows are the same: for distant pairs, or
for all if the distance does not matter, rows are weighed before they are multiplied; for the others, no row is
made for each distance.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels import triangles
from strukt.kernels.distance_buckets import Buckets
from strukt.kernels.multilinear import derivative
from strukt.kernels.near import NEAR


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
    distant = derivative(_DISTANT, 0, (_weighed(left, weights, buckets), right), buckets)
    return distant + derivative(NEAR, 0, (left, right, weights), buckets)


def gathered(pairs: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The derivative by A, ``(batch, n, h, r)``: the sum of the rows of all j, weighed by the pairs."""
    distant = derivative(_DISTANT, 1, (pairs, right), buckets)
    distant = (distant * weights[_places(buckets)]).sum(2)
    return distant + derivative(NEAR, 1, (pairs, right, weights), buckets)


def scattered(pairs: Tensor, left: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The derivative by B, ``(batch, n, h, r)``: the sum of the rows of all i, weighed by the pairs."""
    distant = derivative(_DISTANT, 2, (pairs, _weighed(left, weights, buckets)), buckets)
    return distant + derivative(NEAR, 2, (pairs, left, weights), buckets)


def _places(buckets: Buckets) -> list[int]:
    """Those for distant pairs: with j > i, and with j < i; or the only one."""
    return [0] if buckets.reach is None else [0, 2 * buckets.reach + 1]


def _weighed(left: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The rows for distant pairs, ``(batch, n, 2, h, r)``, or 1 in the place of 2."""
    return left.unsqueeze(2) * weights[_places(buckets)]


def _distant_pairs(left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    batch, n, places, channels, _ = left.shape
    if places == 1:
        return left[:, :, 0].transpose(1, 2) @ right.permute(0, 2, 3, 1)
    if buckets.triangles(n) is None:
        return left.new_zeros(batch, channels, n, n)
    above, below = ((rows, right) for rows in left.unbind(2))
    return buckets.clear_near(triangles.products(above, below))


def _distant_left(pairs: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    if buckets.reach is None:
        return (pairs @ right.transpose(1, 2)).transpose(1, 2).unsqueeze(2)
    return torch.stack(triangles.sums(_far(pairs, buckets), right, right), 2)


def _distant_right(pairs: Tensor, left: Tensor, buckets: Buckets) -> Tensor:
    if left.shape[2] == 1:
        return (pairs.mT @ left[:, :, 0].transpose(1, 2)).transpose(1, 2)
    above, below = left.unbind(2)
    found, more = triangles.sums(_far(pairs, buckets).mT, below, above)
    return found.add_(more)


def _far(pairs: Tensor, buckets: Buckets) -> Tensor:
    """The pairs with 0 for those that are not distant."""
    return buckets.clear_near(pairs.clone())


_DISTANT = (_distant_pairs, _distant_left, _distant_right)
"""The derivatives of the form for distant pairs by W, by weighed A, and by B."""
