"""Rows of numbers for eliminations without subtraction: plain or extended, with or without derivatives.

A row is stored in up to three matrices: *values* (doubles or mantissas); *ranks*, those of
`strukt.kernels.extended` numbers, None for plain numbers; and *changes*, None without derivatives. The changes of
plain numbers are their derivatives, those of extended numbers the derivatives of their logs. The compiler drops
all code for arrays that are None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.extended import DOWN, UP, at_rank, settled, share
from strukt.kernels.jit import inner, kept_apart

LEAST = 1e-150
"""The least plain pivot: a number that underflowed is negligible beside it."""


@inner
def beside(marker: Array | None, rows: int, columns: int, value: float) -> Any:
    """Return a matrix filled with ``value``; None if ``marker`` is None."""
    if marker is None:
        return None
    return np.full((rows, columns), value)


@inner
def at(matrix: Array | None, i: int, j: int) -> Any:
    """Return an entry of a matrix; 0 if the matrix is None."""
    if matrix is None:
        return 0.0
    return matrix[i, j]


@inner
def as_double(mantissa: float, rank: float) -> float:
    """Return a number below 2**768 as a double, which may underflow to 0."""
    if rank == 0.0:
        return mantissa
    if rank == -1.0:
        return mantissa * DOWN
    if rank == -2.0:
        return mantissa * DOWN * DOWN
    return mantissa * UP if rank == 1.0 else 0.0


@inner
def add_row(
    values: Array, ranks: Array | None, changes: Array | None, i: int, k: int, first: int, stop: int, by: float,
    by_rank: float, by_change: float,
) -> None:  # fmt: skip
    """Add row k times a number to row i, from column ``first`` to before ``stop``.

    The number has the value ``by``, and where there are ranks and changes, the rank ``by_rank`` and the change
    ``by_change``.
    """
    kept_apart()
    target, source = values[i, first:stop], values[k, first:stop]
    if ranks is None:
        if changes is not None:
            target_change, source_change = changes[i, first:stop], changes[k, first:stop]
            for j in range(target.shape[0]):
                target_change[j] += by_change * source[j] + by * source_change[j]
        for j in range(target.shape[0]):
            target[j] += by * source[j]
    elif by_rank > -np.inf:
        target_rank, source_rank = ranks[i, first:stop], ranks[k, first:stop]
        for j in range(target.shape[0]):
            more, rank = settled(by * source[j], by_rank + source_rank[j])
            top = max(target_rank[j], rank)
            more = at_rank(more, rank, top)
            total = at_rank(target[j], target_rank[j], top) + more
            if changes is not None:
                growth = by_change + changes[k, first + j] - changes[i, first + j]
                changes[i, first + j] += growth * (more / total)
            target[j], target_rank[j] = settled(total, top)


@inner
def total_of(values: Array, ranks: Array | None, i: int, first: int, stop: int) -> tuple[float, float]:
    """Return the sum of row i from column ``first`` to before ``stop``, and its rank, 0 for plain numbers."""
    total, top = 0.0, 0.0
    if ranks is None:
        for j in range(first, stop):
            total += values[i, j]
    else:
        top = -np.inf
        for j in range(first, stop):
            top = max(top, ranks[i, j])
        for j in range(first, stop):
            total += at_rank(values[i, j], ranks[i, j], top)
    return total, top


@inner
def divide_row(
    values: Array, ranks: Array | None, changes: Array | None, i: int, first: int, stop: int, whole: int
) -> bool:
    """Divide row i, up to before column ``whole``, by its sum over columns ``first`` to before ``stop``.

    Return False if the sum is 0, or plain and too small.
    """
    kept_apart()
    total, top = total_of(values, ranks, i, first, stop)
    if top == -np.inf or (ranks is None and not total > LEAST):
        return False
    if changes is not None:
        mean = 0.0
        for j in range(first, stop):
            if ranks is None:
                mean += changes[i, j]
            else:
                mean += changes[i, j] * share(values[i, j], ranks[i, j], total, top)
        for j in range(whole):
            if ranks is None:
                changes[i, j] = (changes[i, j] - values[i, j] / total * mean) / total
            else:
                changes[i, j] -= mean
    for j in range(whole):
        if ranks is None:
            values[i, j] /= total
        else:
            values[i, j], ranks[i, j] = settled(values[i, j] / total, ranks[i, j] - top)
    return True
