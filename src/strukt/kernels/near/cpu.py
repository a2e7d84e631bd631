"""Scores of near pairs on CPUs: all distances of a position in one pass, so that its rows stay in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels import jit
from strukt.kernels.buckets import Buckets


def scores(left: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """Return the scores of pairs, a band ``(batch, n, h, 2g)``; arguments as in `reference.scores`."""
    band = left.new_zeros(*left.shape[:2], weights.shape[1], buckets.places - 2)
    _run(_scores, band, buckets, left, right, weights, band)
    return band


def sums(
    band: Tensor, rows: Tensor, weights: Tensor, shape: torch.Size, buckets: Buckets, sign: int
) -> Tensor:
    """Return the weighted sums of rows for each position; arguments as in `reference.sums`."""
    result = rows.new_zeros(shape)
    _run(_sums, band, buckets, band, rows, weights, result, sign)
    return result


def weights(band: Tensor, left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """Return the derivative of the sum with respect to the weights, ``(2g, h, r)``; see `reference.weights`."""
    sizes = buckets.places - 2, band.shape[2], left.shape[-1]
    result = left.new_zeros(_threads(band, sizes[-1]), *sizes)
    _run(_weights, band, buckets, band, left, right, result)
    return result.sum(0)


def _threads(band: Tensor, rank: int) -> int:
    """Return the number of threads for a band whose scores have ``rank`` terms each."""
    return jit.thread_count(band.shape[0] * band.shape[1], band.numel() * rank)


def _run(kernel: Any, band: Tensor, buckets: Buckets, *arguments: Any) -> None:
    """Call ``kernel(*arguments, diagonals, start, step)`` on threads, for all positions of all items."""
    diagonals = [(place - 1, offset) for place, offset in buckets.diagonals(band.shape[1])]
    arrays = (part.detach().contiguous().numpy() if isinstance(part, Tensor) else part for part in arguments)
    rank = next(part.shape[-1] for part in arguments if isinstance(part, Tensor) and part is not band)
    jit.over_batch(kernel, _threads(band, rank), *arrays, np.array(diagonals, dtype=np.int64).reshape(-1, 2))


@jit.inner
def _row(rows: Any, item: int, position: int, column: int, channel: int) -> Any:
    """Return the terms ``(r,)`` of a row; the column or channel is ignored if all share the row."""
    return rows[item, position, min(column, rows.shape[2] - 1), min(channel, rows.shape[3] - 1)]


@jit.kernel
def _scores(left: Any, right: Any, weights: Any, band: Any, diagonals: Any, start: int, step: int) -> None:
    """Write the scores of near pairs to ``band``.

    Shapes are those of `strukt.kernels.near`; ``diagonals (count, 2)`` are (column of the band, j - i).
    """
    batch, n, channels, _ = band.shape
    rank = left.shape[4]
    for position in range(*jit.rows_of(batch * n, start, step)):
        item, i = position // n, position % n
        for channel in range(channels):
            for column, offset in diagonals:
                if 0 <= i + offset < n:
                    row = _row(left, item, i, column, channel)
                    other = _row(right, item, i + offset, column, channel)
                    weight = weights[column, channel]
                    total = band.dtype.type(0.0)
                    for k in range(rank):
                        total += row[k] * weight[k] * other[k]
                    band[item, i, channel, column] = total


@jit.kernel
def _sums(
    band: Any, rows: Any, weights: Any, result: Any, sign: int, diagonals: Any, start: int, step: int
) -> None:
    """Add to each row of ``result`` the sum over near positions of their rows times weights and band.

    With sign 1, ``result`` has the shape of the left rows, and ``rows`` are the right ones; with -1 vice versa.
    The other arrays are those of `_scores`.
    """
    batch, n, channels, _ = band.shape
    rank = rows.shape[4]
    for position in range(*jit.rows_of(batch * n, start, step)):
        item, i = position // n, position % n
        for channel in range(channels):
            for column, offset in diagonals:
                j = i + sign * offset
                if 0 <= j < n:
                    pair = band[item, i if sign > 0 else j, channel, column]
                    into = _row(result, item, i, column, channel)
                    other = _row(rows, item, j, column, channel)
                    weight = weights[column, channel]
                    for k in range(rank):
                        into[k] += pair * weight[k] * other[k]


@jit.kernel
def _weights(band: Any, left: Any, right: Any, result: Any, diagonals: Any, start: int, step: int) -> None:
    """Add the derivatives with respect to the weights to ``result (threads, 2g, h, r)``.

    The other arrays are those of `_scores`.
    """
    batch, n, channels, _ = band.shape
    rank = left.shape[4]
    for position in range(*jit.rows_of(batch * n, start, step)):
        item, i = position // n, position % n
        for channel in range(channels):
            for column, offset in diagonals:
                if 0 <= i + offset < n:
                    pair = band[item, i, channel, column]
                    row = _row(left, item, i, column, channel)
                    other = _row(right, item, i + offset, column, channel)
                    into = result[start, column, channel]
                    for k in range(rank):
                        into[k] += pair * row[k] * other[k]
