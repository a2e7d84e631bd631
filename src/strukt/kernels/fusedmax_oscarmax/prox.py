"""The proximal maps of total variation and OSCAR in Numba, or without it in plain Python over NumPy arrays.

They are computed in float64, and the maximum of each row is subtracted before rounding: probabilities depend only
on differences, of which rounded large scores would keep few digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, over_batch, rows_of, thread_count
from strukt.kernels.memory import empty


def variation(scores: Tensor, weight: Tensor) -> Tensor:
    """Return the proximal map of total variation ``(rows, d)``, in O(d) time per row (Johnson 2013)."""
    return _run(_variation, scores, weight)


def oscar(scores: Tensor, weight: Tensor) -> Tensor:
    """Return the proximal map of OSCAR ``(rows, d)``, in O(d log d) time per row (Zhong and Kwok 2012)."""
    return _run(_oscar, scores, weight)


def _run(function: Callable[..., None], scores: Tensor, weight: Tensor) -> Tensor:
    """Return a kernel's result for scores ``(rows, d)`` and weights ``(rows,)``, on the device of the scores."""
    rows = scores.detach().cpu().contiguous().numpy()
    result = empty(rows.shape, rows.dtype)
    if rows.size:
        weights = weight.detach().double().cpu().contiguous().numpy()
        over_batch(function, thread_count(len(rows), 30 * rows.size), rows, weights, result)
    return torch.from_numpy(result).to(scores.device)


@kernel
def _variation(scores: Array, weights: Array, result: Array, start: int, step: int) -> None:
    """Write the map of total variation: ``scores`` and ``result (rows, d)``, ``weights (rows,)``."""
    d = scores.shape[1]
    knots, changes, bounds = np.empty(2 * d), np.empty((2 * d, 2)), np.empty((d, 2))
    values = np.empty(d)
    for row in range(*rows_of(scores.shape[0], start, step)):
        _subtract_largest(scores[row], values)
        first = 0
        while first < d:
            last = first
            while last < d and values[last] != -np.inf:
                last += 1
            if last > first:
                _fuse(values[first:last], weights[row], knots, changes, bounds)
            first = last + 1
        _subtract_largest(values, result[row])


@inner
def _subtract_largest(values: Array, result: Array) -> None:
    """Write values minus the largest one; if all are -inf, they stay, and with a NaN or +inf, all become NaN."""
    top, wrong = np.float64(values[0]), 0
    for j in range(values.shape[0]):
        top = max(top, np.float64(values[j]))
        wrong += int(not values[j] < np.inf)
    # A single NaN would be dropped when its neighbours are clipped at their bounds.
    if wrong > 0:
        top = np.float64(np.nan)
    elif top == -np.inf:
        top = np.float64(0.0)
    for j in range(values.shape[0]):
        result[j] = np.float64(values[j]) - top


@inner
def _fuse(values: Array, weight: float, knots: Array, changes: Array, bounds: Array) -> None:
    """Replace one run of finite scores by its map, by dynamic programming from the first entry to the last.

    The least cost, as a function of the last entry, has a piecewise linear derivative: at each knot from ``low``
    to ``high`` the slope and the intercept of the line rise by a row of ``changes``. To advance by one entry, the
    derivative is clipped to at most the weight in absolute value. It is clipped outside ``bounds``, within which
    the entry equals the next one.

    Arrays: ``values (n,)``; workspace for d >= n entries: ``knots (2 d,)``, ``changes (2 d, 2)`` and ``bounds (d,
    2)``.
    """
    n = values.shape[0]
    low, high = n, n - 1
    for k in range(n):
        slope, intercept = 1.0, -values[k] - (weight if k > 0 else 0.0)
        end_slope, end_intercept = 1.0, -values[k] + (weight if k > 0 else 0.0)
        if k == n - 1:
            values[k] = _zero_of(knots, changes, low, high, slope, intercept)
            break
        while low <= high and slope * knots[low] + intercept <= -weight:
            slope, intercept = slope + changes[low, 0], intercept + changes[low, 1]
            low += 1
        while high >= low and end_slope * knots[high] + end_intercept >= weight:
            end_slope, end_intercept = end_slope - changes[high, 0], end_intercept - changes[high, 1]
            high -= 1
        bounds[k, 0], bounds[k, 1] = (-weight - intercept) / slope, (weight - end_intercept) / end_slope
        low, high = low - 1, high + 1
        knots[low], knots[high] = bounds[k, 0], bounds[k, 1]
        changes[low, 0], changes[low, 1] = slope, intercept + weight
        changes[high, 0], changes[high, 1] = -end_slope, weight - end_intercept
    for k in range(n - 2, -1, -1):
        values[k] = min(max(values[k + 1], bounds[k, 0]), bounds[k, 1])


@inner
def _zero_of(knots: Array, changes: Array, low: int, high: int, slope: float, intercept: float) -> float:
    """Return the zero of a derivative as in `_fuse`, given the line before its first knot."""
    while low <= high and slope * knots[low] + intercept <= 0.0:
        slope, intercept = slope + changes[low, 0], intercept + changes[low, 1]
        low += 1
    return -intercept / slope


@kernel
def _oscar(scores: Array, weights: Array, result: Array, start: int, step: int) -> None:
    """Write the map of OSCAR: ``scores`` and ``result (rows, d)``, ``weights (rows,)``."""
    d = scores.shape[1]
    means, sizes, values = np.empty(d), np.empty(d, np.int64), np.empty(d)
    for row in range(*rows_of(scores.shape[0], start, step)):
        _subtract_largest(scores[row], values)
        order, count = np.argsort(-values), 0
        for j in range(d):
            count += int(values[j] != -np.inf)
        _isotonic(values, order[:count], weights[row], means, sizes)
        _subtract_largest(values, result[row])


@inner
def _isotonic(values: Array, order: Array, weight: float, means: Array, sizes: Array) -> None:
    """Replace finite scores by the map of OSCAR: isotonic regression by pooling adjacent violators (PAV).

    The scores, each minus the weight times the number of those after it in the order, are fitted by values that do
    not rise along the order.

    Arrays: ``values (d,)``; ``order``, the indices of the finite scores, descending; workspace ``means`` and
    ``sizes (d,)``.
    """
    count, blocks = order.shape[0], 0
    for k in range(count):
        means[blocks], sizes[blocks] = values[order[k]] - weight * (count - 1 - k), 1
        blocks += 1
        while blocks > 1 and means[blocks - 1] >= means[blocks - 2]:
            total = sizes[blocks - 2] + sizes[blocks - 1]
            means[blocks - 2] += (means[blocks - 1] - means[blocks - 2]) * sizes[blocks - 1] / total
            sizes[blocks - 2] = total
            blocks -= 1
    k = 0
    for block in range(blocks):
        for _ in range(sizes[block]):
            values[order[k]] = means[block]
            k += 1
