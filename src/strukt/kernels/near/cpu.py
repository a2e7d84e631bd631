"""Scores of near pairs for CPUs: all distances of a position in one pass, in which its rows stay in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from strukt.kernels import jit
from strukt.kernels.distance_buckets import Buckets


def pairs(left: Tensor, right: Tensor, weights: Tensor, buckets: Buckets) -> Tensor:
    """As in `reference`."""
    batch, n, channels, _ = left.shape
    found = left.new_zeros(batch, channels, n, n)
    _run(_pairs, left, buckets, left, right, weights, found)
    return found


def sums(pairs: Tensor, rows: Tensor, weights: Tensor, buckets: Buckets, sign: int) -> Tensor:
    """As in `reference`."""
    found = rows.new_zeros(rows.shape)
    _run(_sums, rows, buckets, pairs, rows, weights, found, sign)
    return found


def weights(pairs: Tensor, left: Tensor, right: Tensor, buckets: Buckets) -> Tensor:
    """As in `reference`."""
    threads = _threads(left, buckets)
    found = left.new_zeros(threads, buckets.places, *left.shape[2:])
    _run(_weights, left, buckets, pairs, left, right, found)
    return found.sum(0)


def _threads(rows: Tensor, buckets: Buckets) -> int:
    return jit.thread_count(rows.shape[0] * rows.shape[1], rows.numel() * buckets.places)


def _run(kernel: Any, rows: Tensor, buckets: Buckets, *arguments: Any) -> None:
    """Calls a kernel for all positions of all items, in some threads."""
    diagonals = np.array(buckets.diagonals(rows.shape[1]), dtype=np.int64).reshape(-1, 2)
    given = (part.detach().contiguous().numpy() if isinstance(part, Tensor) else part for part in arguments)
    jit.over_batch(kernel, _threads(rows, buckets), *given, diagonals)


@jit.kernel
def _pairs(left: Any, right: Any, weights: Any, found: Any, diagonals: Any, start: int, step: int) -> None:
    batch, n, channels, rank = left.shape
    first, last = jit.rows_of(batch * n, start, step)
    for place in range(first, last):
        item, i = place // n, place % n
        for channel in range(channels):
            row = left[item, i, channel]
            for bucket, offset in diagonals:
                if 0 <= i + offset < n:
                    other, weight = right[item, i + offset, channel], weights[bucket, channel]
                    total = found.dtype.type(0.0)
                    for k in range(rank):
                        total += row[k] * weight[k] * other[k]
                    found[item, channel, i, i + offset] = total


@jit.kernel
def _sums(
    pairs: Any, rows: Any, weights: Any, found: Any, sign: int, diagonals: Any, start: int, step: int
) -> None:
    batch, n, channels, rank = rows.shape
    first, last = jit.rows_of(batch * n, start, step)
    for place in range(first, last):
        item, i = place // n, place % n
        for channel in range(channels):
            into = found[item, i, channel]
            for bucket, offset in diagonals:
                j = i + sign * offset
                if 0 <= j < n:
                    pair = pairs[item, channel, i, j] if sign > 0 else pairs[item, channel, j, i]
                    other, weight = rows[item, j, channel], weights[bucket, channel]
                    for k in range(rank):
                        into[k] += pair * weight[k] * other[k]


@jit.kernel
def _weights(pairs: Any, left: Any, right: Any, found: Any, diagonals: Any, start: int, step: int) -> None:
    batch, n, channels, rank = left.shape
    first, last = jit.rows_of(batch * n, start, step)
    for place in range(first, last):
        item, i = place // n, place % n
        for channel in range(channels):
            row = left[item, i, channel]
            for bucket, offset in diagonals:
                if 0 <= i + offset < n:
                    pair = pairs[item, channel, i, i + offset]
                    other, into = right[item, i + offset, channel], found[start, bucket, channel]
                    for k in range(rank):
                        into[k] += pair * row[k] * other[k]
