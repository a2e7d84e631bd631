"""The functions of `strukt.kernels.distance_buckets` by plain operations on all pairs of positions.

They run where functions that write block by block cannot: in graphs of ``torch.compile`` and ``torch.export``,
whose sizes may be free, and under ``torch.func``. Each place stores tensors of all pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from strukt.kernels.buckets import Buckets


def scores(left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Return the scores of all pairs, ``(batch, h, n, n)``, from rows ``(batch, n, f, h, r)``.

    Examples:
        >>> left = torch.tensor([1.0, 10.0, 20.0, 2.0]).reshape(4, 1, 1).expand(1, 3, 4, 1, 1)
        >>> scores(left, torch.ones(1, 3, 4, 1, 1), Buckets(1, shared=False))[0, 0]
        tensor([[ 0., 10.,  1.],
                [20.,  0., 10.],
                [ 2., 20.,  0.]])
    """
    distance = distances(left)

    def products(place: int) -> Tensor:
        return left[:, :, place].transpose(1, 2) @ right[:, :, place].permute(0, 2, 3, 1)

    if buckets.reach is None:
        return products(0)
    result = torch.where(distance > 0, products(0), products(2 * buckets.reach + 1))
    for place, offset in buckets.diagonals():
        along = (left[:, :, place] * _shifted(right[:, :, place], offset)).sum(-1).mT
        result = torch.where(distance == offset, along.unsqueeze(-1), result)
    result = result.masked_fill(distance == 0, 0.0)
    return result if buckets.for_all is None else result + products(buckets.for_all)


def gathered(weights: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Return, for each position i and place, the sum over its pairs i, j of right row j times their weight.

    ``weights`` are ``(batch, h, n, n)``; ``right`` and the result are ``(batch, n, f, h, r)``.
    """
    return _sums(weights, right, buckets, 1)


def scattered(weights: Tensor, left: Tensor, buckets: Buckets) -> Tensor:
    """Return, for each position j and place, the sum over its pairs i, j of left row i times their weight.

    ``weights`` are ``(batch, h, n, n)``; ``left`` and the result are ``(batch, n, f, h, r)``.
    """
    return _sums(weights.mT, left, buckets, -1)


def _sums(weights: Tensor, rows: Tensor, buckets: Buckets, sign: int) -> Tensor:
    """Return, for each place, the sums of rows weighted by its pairs, ``(batch, n, f, h, r)``.

    ``weights`` are ``(batch, h, n, n)``, indexed i, j if ``sign`` is 1, and j, i if it is -1.
    """
    distance = sign * distances(rows)

    def products(pairs: Tensor, place: int) -> Tensor:
        return (pairs @ rows[:, :, place].transpose(1, 2)).transpose(1, 2)

    if buckets.reach is None:
        return products(weights, 0).unsqueeze(2)
    last = 2 * buckets.reach + 1
    result = [products(weights.masked_fill(distance <= buckets.reach, 0.0), 0)]
    for place, offset in buckets.diagonals():
        along = weights.masked_fill(distance != offset, 0.0).sum(-1).mT.unsqueeze(-1)
        result.append(along * _shifted(rows[:, :, place], sign * offset))
    result.append(products(weights.masked_fill(distance >= -buckets.reach, 0.0), last))
    if buckets.for_all is not None:
        result.append(products(weights, buckets.for_all))
    return torch.stack(result, 2)


def distances(rows: Tensor) -> Tensor:
    """Return j - i for all pairs of the positions of rows ``(batch, n, ...)``: ``(n, n)``."""
    place = torch.arange(rows.shape[1], device=rows.device)
    return place - place.unsqueeze(1)


def _shifted(rows: Tensor, offset: int) -> Tensor:
    """Return the rows at i + offset of ``(batch, n, h, r)``, 0 where there are none."""
    added = functional.pad(rows, (0, 0, 0, 0, max(-offset, 0), max(offset, 0)))
    return added[:, offset:] if offset > 0 else added[:, :offset]
