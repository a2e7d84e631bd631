"""Scores of near pairs in PyTorch, diagonal by diagonal."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.buckets import Buckets
from strukt.kernels.distance_buckets import along


def scores(left: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """Return the scores of near pairs, a band ``(batch, n, h, 2g)``; arguments as in `strukt.kernels.near`."""
    batch, n, *_ = left.shape
    band = left.new_zeros(batch, n, weights.shape[1], buckets.places - 2)
    for place, offset in buckets.diagonals(n):
        first, second = along(_at(left, place), _at(right, place), offset)
        into, _ = along(band, band, offset)
        into[..., place - 1] = (first * second * weights[place - 1]).sum(-1)
    return band


def weights(band: Tensor, left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Return the derivative of the sum with respect to the weights, ``(2g, h, r)``.

    It is the products of both rows and the band, summed over the pairs of each distance.
    """
    _, n, channels, _ = band.shape
    result = left.new_zeros(buckets.places - 2, channels, left.shape[-1])
    for place, offset in buckets.diagonals(n):
        first, second = along(_at(left, place), _at(right, place), offset)
        pairs, _ = along(band[..., place - 1 : place], band, offset)
        result[place - 1] = (first * second * pairs).sum((0, 1))
    return result


def sums(
    band: Tensor, rows: Tensor, weights: Tensor, shape: torch.Size, buckets: Buckets, sign: int
) -> Tensor:
    """Return, for each position, the sum of the rows of near positions times weights and band.

    With sign 1, the result is for the positions i of pairs i, j, and ``rows`` are those of j; with -1 vice versa.
    ``shape`` is the shape of the result, ``(batch, n, 2g, h, r)`` with 1 for axes to sum over.
    """
    result = rows.new_zeros(shape)
    for place, offset in buckets.diagonals(band.shape[1]):
        into, other = along(_at(result, place), _at(rows, place), sign * offset)
        pairs = along(*(band[..., place - 1 : place],) * 2, offset)[0]
        into += (other * weights[place - 1] * pairs).sum_to_size(into.shape)
    return result


def _at(rows: Tensor, place: int) -> Tensor:
    """Return the rows for the distance of a place, counted from 1: ``(batch, n, h, r)``."""
    return rows[:, :, place - 1 if rows.shape[2] > 1 else 0]
