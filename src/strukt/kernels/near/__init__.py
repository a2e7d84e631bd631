"""Bilinear scores of near pairs of positions, distance by distance.

A pair is near if its distance i - j is one of the 2g from -g to g without 0, with k as its index among these; g is
``Buckets.reach``. For rows A and B, weights w of their terms l, and a number W_ij for each near pair, `scores`,
`gathered` and `scattered` are the derivatives, with respect to W, A and B, of the sum over near pairs

    sum_ij W_ij sum_l A_ikl w_kl B_jkl        for each channel.

Rows are ``(batch, n, 2g, h, r)``, with 1 instead of 2g or h if all distances or channels share them; weights
``(2g, h, r)``. The numbers W are a band ``(batch, n, h, 2g)``, with a column for each distance, 0 where j is no
position. `spread` and `banded` convert between bands and tensors of all pairs. `reference` and `cpu` compute the
derivatives of the sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from strukt.kernels import dispatch
from strukt.kernels.buckets import Buckets
from strukt.kernels.multilinear import derivative
from strukt.kernels.near import reference


class _Shapes(NamedTuple):
    """The buckets, and the shapes of the rows A (left) and B (right)."""

    buckets: Buckets
    left: torch.Size
    right: torch.Size


def scores(left: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """Return the derivative with respect to W: the scores of near pairs, a band.

    Examples:
        >>> left, right = torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1, 1, 1), torch.ones(1, 3, 1, 1, 1)
        >>> scores(left, right, torch.tensor([1.0, 10.0]).view(2, 1, 1), Buckets(1, False))[0, :, 0]
        tensor([[ 1.,  0.],
                [ 2., 20.],
                [ 0., 30.]])
    """
    return derivative(_FORM, 0, (left, right, weights), _Shapes(buckets, left.shape, right.shape))


def gathered(band: Tensor, right: Tensor, weights: Tensor, buckets: Buckets, shape: torch.Size) -> Tensor:
    """Return the derivative with respect to A, in the shape of A: for each i the weighted sum of the rows j."""
    return derivative(_FORM, 1, (band, right, weights), _Shapes(buckets, shape, right.shape))


def scattered(band: Tensor, left: Tensor, weights: Tensor, buckets: Buckets, shape: torch.Size) -> Tensor:
    """Return the derivative with respect to B, in the shape of B: for each j the weighted sum of the rows i."""
    return derivative(_FORM, 2, (band, left, weights), _Shapes(buckets, left.shape, shape))


def spread(band: Tensor, buckets: Buckets) -> Tensor:
    """Return the numbers of a band as a tensor of all pairs ``(batch, h, n, n)``, 0 outside the band."""
    return derivative(_PLACES, 0, (band,), buckets)


def banded(pairs: Tensor, buckets: Buckets) -> Tensor:
    """Return the band of near pairs of a tensor of all pairs ``(batch, h, n, n)``."""
    return derivative(_PLACES, 1, (pairs,), buckets)


def _backend(rows: Tensor) -> Any:
    """Return the module of this package that computes on the device of a tensor: `cpu` or `reference`."""
    return dispatch.select(__package__, rows) or reference


def _scores(left: Tensor, right: Tensor, weights: Tensor, shapes: _Shapes) -> Tensor:
    """Return `scores` by a backend."""
    result: Tensor = _backend(left).scores(left, right, weights, shapes.buckets)
    return result


def _left(band: Tensor, right: Tensor, weights: Tensor, shapes: _Shapes) -> Tensor:
    """Return `gathered` by a backend."""
    result: Tensor = _backend(right).sums(band, right, weights, shapes.left, shapes.buckets, 1)
    return result


def _right(band: Tensor, left: Tensor, weights: Tensor, shapes: _Shapes) -> Tensor:
    """Return `scattered` by a backend."""
    result: Tensor = _backend(left).sums(band, left, weights, shapes.right, shapes.buckets, -1)
    return result


def _weights(band: Tensor, left: Tensor, right: Tensor, shapes: _Shapes) -> Tensor:
    """Return the derivative with respect to the weights, ``(2g, h, r)``, by a backend."""
    result: Tensor = _backend(left).weights(band, left, right, shapes.buckets)
    return result


def _spread(band: Tensor, buckets: Buckets) -> Tensor:
    """Return `spread`, without derivatives."""
    batch, n, channels, _ = band.shape
    result = band.new_zeros(batch, channels, n, n)
    for place, offset in buckets.diagonals(n):
        rows = slice(max(-offset, 0), n - max(offset, 0))
        result.diagonal(offset, -2, -1).copy_(band[:, rows, :, place - 1].mT)
    return result


def _banded(pairs: Tensor, buckets: Buckets) -> Tensor:
    """Return `banded`, without derivatives."""
    batch, channels, n, _ = pairs.shape
    result = pairs.new_zeros(batch, n, channels, buckets.places - 2)
    for place, offset in buckets.diagonals(n):
        rows = slice(max(-offset, 0), n - max(offset, 0))
        result[:, rows, :, place - 1] = pairs.diagonal(offset, -2, -1).mT
    return result


_FORM = (_scores, _left, _right, _weights)
"""The derivatives of the sum with respect to W, A, B and w, each a function of the others, for `multilinear`."""

_PLACES = (_spread, _banded)
"""The derivatives of the inner product of a band and a tensor of all pairs, with respect to pairs and band."""
