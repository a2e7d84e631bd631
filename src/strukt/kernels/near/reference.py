"""Scores of near pairs in PyTorch: one diagonal after the other."""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.distance_buckets import Buckets, along


def pairs(left: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """The scores of pairs: ``(batch, h, n, n)``, 0 for distant ones."""
    batch, n, channels, _ = left.shape
    found = left.new_zeros(batch, channels, n, n)
    for place, offset in buckets.diagonals(n):
        first, second = along(left, right, offset)
        found.diagonal(offset, -2, -1).copy_((first * second).mul_(weights[place]).sum(-1).mT)
    return found


def weights(pairs: Tensor, left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """The products of rows, summed over pairs of each distance: ``(f, h, r)``, 0 for distant ones."""
    _, n, channels, rank = left.shape
    found = left.new_zeros(buckets.places, channels, rank)
    for place, offset in buckets.diagonals(n):
        first, second = along(left, right, offset)
        on_diagonal = pairs.diagonal(offset, -2, -1).mT.unsqueeze(-1)
        found[place] = (first * second).mul_(on_diagonal).sum((0, 1))
    return found


def sums(pairs: Tensor, rows: Tensor, weights: Tensor, buckets: Buckets, sign: int) -> Tensor:
    """For each position the rows of others, weighed by pairs and weights: ``(batch, n, h, r)``.

    With sign 1 the position is i and the others are j, with -1 the other way round.
    """
    found = rows.new_zeros(rows.shape)
    pairs = pairs if sign > 0 else pairs.mT
    for place, offset in buckets.diagonals(rows.shape[1]):
        into, other = along(found, rows, sign * offset)
        on_diagonal = pairs.diagonal(sign * offset, -2, -1).mT.unsqueeze(-1)
        into.addcmul_(other * weights[place], on_diagonal)
    return found
