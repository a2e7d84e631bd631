"""Fused Numba kernels of the projection onto the points of the unit cube with a given sum.

The sum of ``clip(x - t, 0, 1)`` falls piecewise linearly in the threshold t, which lies less than 1 below the
score of rank floor(size) + 1. That score is subtracted from all others, so that the precision of t does not depend
on their range. A step of Newton's method leads to where the line of the current piece meets the requested sum; if
that lies outside the bracket, the bracket is halved instead. The last step is exact, because it starts on the
piece of the solution.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, over_batch, rows_of, thread_count, write
from strukt.kernels.memory import empty

MOST_STEPS = 200
"""Bound on the number of Newton's steps, of which about ten are usual."""


def subset(scores: Tensor, size: Tensor) -> Tensor:
    """Return ``clip(x - t, 0, 1)``, with t such that each row ``(rows, d)`` sums to its size; see `reference`."""
    rows = scores.detach().contiguous().numpy()
    result = empty(rows.shape, rows.dtype)
    if rows.size:
        sizes = size.detach().double().contiguous().numpy()
        over_batch(_subset, thread_count(len(rows), 8 * rows.size), rows, sizes, result)
    return torch.from_numpy(result)


@kernel
def _subset(scores: Array, sizes: Array, result: Array, start: int, step: int) -> None:
    """Write the projections: ``scores`` and ``result (rows, d)``, ``sizes (rows,)``."""
    d = scores.shape[1]
    values, workspace = np.empty(d), np.empty(d)
    for row in range(*rows_of(scores.shape[0], start, step)):
        size = max(sizes[row], 0.0)
        count, wrong = 0, int(np.isnan(sizes[row]))
        for j in range(d):
            value = np.float64(scores[row, j])
            values[count] = value
            wrong += int(not value < np.inf)
            count += int(value > -np.inf)
        if wrong > 0:
            result[row] = np.nan
        elif count <= size:
            for j in range(d):
                result[row, j] = 1.0 if scores[row, j] > -np.inf else 0.0
        else:
            write(workspace[:count], values[:count])
            subtracted = _of_rank(workspace[:count], count - 1 - int(size))
            for j in range(count):
                values[j] -= subtracted
            threshold = _threshold(values[:count], size)
            used = 0
            for j in range(d):
                result[row, j] = 0.0
                if scores[row, j] > -np.inf:
                    result[row, j] = min(max(values[used] - threshold, 0.0), 1.0)
                    used += 1


@inner
def _of_rank(values: Array, rank: int) -> float:
    """Return the value of a rank, 0 for the smallest, in expected time O(d), and reorder the values (Hoare 1961).

    Numba takes ten times as long to compile `numpy.partition`.
    """
    low, high = 0, values.shape[0] - 1
    while low < high:
        first, middle, last = values[low], values[(low + high) // 2], values[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[rank]  # type: ignore[no-any-return]


@inner
def _threshold(values: Array, size: float) -> float:
    """Return the t, from -1 to 0, for which the sum of ``clip(values - t, 0, 1)`` is the size.

    The value of rank floor(size) + 1 must be 0.
    """
    low, high = -1.0, 0.0
    # This is the solution if size is an integer k and the scores of ranks k and k + 1 are 1 or more apart.
    t = high
    for _ in range(MOST_STEPS):
        total, free = 0.0, 0
        for j in range(values.shape[0]):
            above = values[j] - t
            total += min(max(above, 0.0), 1.0)
            free += int((above > 0.0) & (above < 1.0))
        if total == size:
            break
        if total > size:
            low = t
        else:
            high = t
        following = t + (total - size) / free if free > 0 else 0.5 * (low + high)
        following = following if low < following < high else 0.5 * (low + high)
        if following == t or not low < following < high:
            break
        t = following
    return t
