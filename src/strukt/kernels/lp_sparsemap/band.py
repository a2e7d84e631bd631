"""The projection onto a band: the unit cube cut by two parallel planes.

    argmin |p - x|  over  0 <= p <= 1,  low <= <costs, p> <= high

The solution is ``clip(x - t costs, 0, 1)`` for some multiplier t, and its cost never rises as t grows. If the
clipped scores violate a bound, Newton's method solves for t on this piecewise linear function, within a bracket.
It ends on the piece of the solution, from which the last step is exact.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel

FIXED, FREE, POOLED = 0, 1, 2
"""Labels of a coordinate, by its possible movement along the face of a solution: none, alone, or with others."""

MOST_STEPS = 400
"""Bound on the number of steps, of which about five are usual; every fourth step halves the bracket instead."""


@kernel
def band(x: Array, costs: Array, low: float, high: float, p: Array, labels: Array) -> int:
    """Write the projection of ``x (d,)`` to ``p (d,)``, and the labels of its coordinates to ``labels (d,)``.

    ``costs (d,)`` is the normal of the planes that bound the band. Return 1 if a plane binds the projection, or
    both planes are the same, else 0.
    """
    total = 0.0
    for j in range(x.shape[0]):
        p[j] = min(max(x[j], 0.0), 1.0)
        total += costs[j] * p[j]
    tight = 1 if low == high else 0
    if total > high:
        tight = 1
        _write_point(x, costs, _multiplier(x, costs, high, total), high, p)
    elif total < low:
        tight = 1
        _write_point(x, costs, _multiplier(x, costs, low, total), low, p)
    for j in range(x.shape[0]):
        labels[j] = FREE if 0.0 < p[j] < 1.0 else FIXED
    return tight


@inner
def _multiplier(x: Array, costs: Array, target: float, total: float) -> float:
    """Return the t for which ``clip(x - t costs, 0, 1)`` costs the target; ``total`` is the cost for t = 0."""
    above = total > target
    low, high = _bracket(x, costs, above)
    t = 0.0
    for turn in range(MOST_STEPS):
        total, slope = 0.0, 0.0
        for j in range(x.shape[0]):
            moved = x[j] - t * costs[j]
            inside = 0.0 < moved < 1.0
            total += costs[j] * min(max(moved, 0.0), 1.0)
            slope += costs[j] * costs[j] if inside else 0.0
        if total == target:
            break
        if total > target:
            low = t
        else:
            high = t
        following = t + (total - target) / slope if slope > 0.0 else np.inf
        if turn % 4 == 3 or not low < following < high:
            following = 0.5 * (low + high)
        if following == t or not low < following < high:
            break
        t = following
    return t


@inner
def _bracket(x: Array, costs: Array, above: bool) -> tuple[float, float]:
    """Return the bracket of the solution: 0 and a t beyond which no coordinate moves, in ascending order.

    The solution is positive if the cost at 0 is ``above`` the target, else negative.
    """
    bound = 0.0
    for j in range(x.shape[0]):
        if costs[j] != 0.0:
            end = x[j] if (costs[j] > 0.0) == above else x[j] - 1.0
            bound = max(bound, end / costs[j]) if above else min(bound, end / costs[j])
    return (0.0, 2.0 * bound + 1.0) if above else (2.0 * bound - 1.0, 0.0)


@inner
def _write_point(x: Array, costs: Array, t: float, target: float, p: Array) -> None:
    """Write ``clip(x - t costs, 0, 1)`` to ``p``, after one more Newton step, against rounding of large scores."""
    total, slope = 0.0, 0.0
    for j in range(x.shape[0]):
        p[j] = x[j] - t * costs[j]
        total += costs[j] * min(max(p[j], 0.0), 1.0)
        slope += costs[j] * costs[j] if 0.0 < p[j] < 1.0 else 0.0
    rest = (total - target) / slope if slope > 0.0 else 0.0
    for j in range(x.shape[0]):
        inside = 0.0 < p[j] < 1.0
        p[j] = min(max(p[j] - rest * costs[j], 0.0), 1.0) if inside else min(max(p[j], 0.0), 1.0)


@kernel
def band_support(scores: Array, costs: Array, low: float, high: float) -> float:
    """Return the largest ``<scores, p>`` in the band, in O(d log d), by its dual in the multiplier t.

        min over t of  sum_j max(0, scores_j - t costs_j) + max(t low, t high)

    The dual is convex and piecewise linear: its minimum is found by bisection in the sorted breakpoints. Both
    arrays are ``(d,)``.
    """
    d = scores.shape[0]
    ends = np.empty(d + 1)
    count = 1
    ends[0] = 0.0
    for j in range(d):
        if costs[j] != 0.0:
            ends[count] = scores[j] / costs[j]
            count += 1
    ends = np.sort(ends[:count])
    first, last = 0, count - 1
    while first < last:
        middle = (first + last) // 2
        t = ends[middle]
        slope = high if t >= 0.0 else low
        for j in range(d):
            value = scores[j] - t * costs[j]
            if value > 0.0 or (value == 0.0 and costs[j] < 0.0):
                slope -= costs[j]
        if slope >= 0.0:
            last = middle
        else:
            first = middle + 1
    best = np.inf
    for k in range(max(first - 1, 0), min(first + 2, count)):
        t = ends[k]
        value = 0.0
        if t > 0.0:
            value = t * high
        elif t < 0.0:
            value = t * low
        for j in range(d):
            value += max(0.0, scores[j] - t * costs[j])
        best = min(best, value)
    return best
