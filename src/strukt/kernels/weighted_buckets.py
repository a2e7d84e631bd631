"""Bilinear scores of pairs of positions whose terms are weighted by their distance.

For rows A and B, weights w of their terms l for each bucket f of distances, and a number W_ij for each pair,
`scores`, `gathered` and `scattered` are the derivatives, with respect to W, A and B, of the form

    sum_ij W_ij sum_l A_il w_f(i-j),l B_jl.

Buckets are those of `strukt.kernels.distance_buckets`, with a place for all pairs only if the distance does not
matter. All buckets share the rows: for distant pairs, or for all pairs if the distance does not matter, rows are
weighted before the product. Near pairs are first computed with the weights of distant ones, and then corrected, so
that no rows are stored for each distance.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels import all_pairs, near, triangles
from strukt.kernels.autograd import is_plain
from strukt.kernels.buckets import Buckets
from strukt.kernels.multilinear import derivative


class Left(NamedTuple):
    """Rows A, with the weighted rows that two of the derivatives need.

    Attributes:
        rows: A, ``(batch, n, h, r)``.
        weighted: A times the weights of distant pairs, ``(batch, n, 2, h, r)``, for the pairs with j > i and the
            pairs with j < i; with 1 instead of 2 if all pairs share their weights.
    """

    rows: Tensor
    weighted: Tensor


def weighted(rows: Tensor, weights: Tensor, buckets: Buckets) -> Left:
    """Return rows A, ``(batch, n, h, r)``, and their products with the weights of distant pairs.

    ``weights`` are w, ``(f, h, r)``.
    """
    return Left(rows, rows.unsqueeze(2) * weights[_places(buckets)])


def scores(left: Left, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """Return the derivative with respect to W: the score of each pair.

    Args:
        left: A, weighted.
        right: B, ``(batch, n, h, r)``.
        weights: w, ``(f, h, r)``.
        buckets: The buckets of distances.

    Returns:
        ``(batch, h, n, n)``; O(n^2 h r) time.
    """
    if not is_plain():
        return all_pairs.scores(_at_places(left.rows, weights), _for_places(right, buckets), buckets)
    distant = derivative(_DISTANT, 0, (left.weighted, right), buckets)
    if buckets.reach is None:
        return distant
    band = near.scores(left.rows.unsqueeze(2), right.unsqueeze(2), _differences(weights), buckets)
    return distant.add_(near.spread(band, buckets))


def gathered(pairs: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """Return the derivative with respect to A, ``(batch, n, h, r)``: the weighted sums of the rows j."""
    if not is_plain():
        return (all_pairs.gathered(pairs, _for_places(right, buckets), buckets) * weights).sum(2)
    distant = derivative(_DISTANT, 1, (pairs, right), buckets)
    result = (distant * weights[_places(buckets)]).sum(2)
    if buckets.reach is None:
        return result
    band, rows = near.banded(pairs, buckets), right.unsqueeze(2)
    return result.add_(near.gathered(band, rows, _differences(weights), buckets, rows.shape).squeeze(2))


def scattered(pairs: Tensor, left: Left, weights: Tensor, buckets: Buckets) -> Tensor:
    """Return the derivative with respect to B, ``(batch, n, h, r)``: the weighted sums of the rows i."""
    if not is_plain():
        return all_pairs.scattered(pairs, _at_places(left.rows, weights), buckets).sum(2)
    result = derivative(_DISTANT, 2, (pairs, left.weighted), buckets)
    if buckets.reach is None:
        return result
    band, rows = near.banded(pairs, buckets), left.rows.unsqueeze(2)
    return result.add_(near.scattered(band, rows, _differences(weights), buckets, rows.shape).squeeze(2))


def _at_places(rows: Tensor, weights: Tensor) -> Tensor:
    """Return rows ``(batch, n, h, r)`` weighted for each place, ``(batch, n, f, h, r)``."""
    return rows.unsqueeze(2) * weights


def _for_places(rows: Tensor, buckets: Buckets) -> Tensor:
    """Return the same rows for each place, ``(batch, n, f, h, r)``."""
    return rows.unsqueeze(2).expand(-1, -1, buckets.places, -1, -1)


def _places(buckets: Buckets) -> list[int]:
    """Return the places of distant pairs: the one for j > i and the one for j < i, or the only place."""
    return [0] if buckets.reach is None else [0, buckets.places - 1]


def _differences(weights: Tensor) -> Tensor:
    """Return the weights of near pairs minus those of the distant pairs on their side, ``(2g, h, r)``."""
    half = len(weights) // 2 - 1
    above, below = (side.expand(half, -1, -1) for side in (weights[:1], weights[-1:]))
    return weights[1:-1] - torch.cat([above, below])


def _distant_pairs(left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Return the scores of all pairs ``(batch, h, n, n)``, with the weights of distant ones."""
    if buckets.reach is None:
        return left[:, :, 0].transpose(1, 2) @ right.permute(0, 2, 3, 1)
    above, below = left.unbind(2)
    return triangles.products((above, right), (below, right))


def _distant_left(pairs: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Return the derivative with respect to weighted A, in its shape ``(batch, n, 2 or 1, h, r)``."""
    if buckets.reach is None:
        return (pairs @ right.transpose(1, 2)).transpose(1, 2).unsqueeze(2)
    return torch.stack(triangles.sums(pairs, right, right), 2)


def _distant_right(pairs: Tensor, left: Tensor, buckets: Buckets) -> Tensor:
    """Return the derivative with respect to B, ``(batch, n, h, r)``."""
    if buckets.reach is None:
        return (pairs.mT @ left[:, :, 0].transpose(1, 2)).transpose(1, 2)
    above, below = left.unbind(2)
    result, more = triangles.sums(pairs.mT, below, above)
    return result.add_(more)


_DISTANT = (_distant_pairs, _distant_left, _distant_right)
"""The derivatives with respect to W, weighted A, and B of the form as if all pairs were distant."""
