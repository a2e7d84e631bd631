"""The Triton kernel of the proximal map of total variation: a thread for each row (Johnson 2013).

The algorithm is that of `strukt.kernels.fusedmax_oscarmax.prox`. Threads advance through their rows in parallel,
each with its own knots.
"""

from __future__ import annotations

import triton
import triton.language as tl

NONE = tl.constexpr(float("-inf"))
"""The score of a masked entry, which separates its neighbours, and of positions beyond the row."""


@triton.jit
def variation(scores, weights, result, workspace, rows, d, R: tl.constexpr):
    """Write the proximal map of R rows at a time, minus the largest entry of each row.

    Args:
        scores: ``(rows, d)``.
        weights: ``(rows,)``, in doubles.
        result: ``(rows, d)``.
        workspace: ``(programs, 8, d, R)``, doubles.
        rows, d: The number of rows, and of entries in each.
    """
    lanes = tl.arange(0, R)
    lower = workspace + tl.program_id(0).to(tl.int64) * 8 * d * R + lanes
    upper, knots = lower + d * R, lower + 2 * d * R
    for first in range(tl.program_id(0) * R, rows, tl.num_programs(0) * R):
        row = tl.zeros([R], tl.int64) + first + lanes
        on = row < rows
        source, target = scores + row * d, result + row * d
        top = _top(source, on, d, R)
        weight = tl.load(weights + row, on, 0.0)
        _bound(source, on, top, weight, lower, upper, knots, d, R)
        _follow(target, on, top, lower, upper, d, R)


@triton.jit
def _top(source, on, d, R: tl.constexpr):
    """Return the largest score of each row, ``(R,)``: NaN if one is NaN or +inf, 0 if all are -inf."""
    top = tl.full([R], float("-inf"), tl.float64)
    wrong = top > 0.0
    for j in range(d):
        value = tl.load(source + j, on, NONE).to(tl.float64)
        wrong = wrong | ~(value < float("inf"))
        top = tl.maximum(top, value)
    return tl.where(wrong, float("nan"), tl.where(top == float("-inf"), 0.0, top))


@triton.jit
def _bound(source, on, top, weight, lower, upper, knots, d, R: tl.constexpr):
    """Write the bounds within which each entry equals the next one, ``lower`` and ``upper (d, R)``.

    Runs of finite scores are solved separately. At the last entry of a run, both bounds are its solution, the zero
    of the derivative of the least cost; see `prox`. The derivative is a piecewise linear function of the entry: at
    each knot from ``low`` to ``high`` its slope and intercept rise by the stored changes. These follow ``knots
    (2 d, R)`` in memory, in the same shape.
    """
    slopes, intercepts = knots + 2 * d * R, knots + 4 * d * R
    none = tl.zeros([R], tl.int32)
    low, high = none + d, none + (d - 1)
    weight_before = tl.zeros([R], tl.float64)  # 0 at the first entry of a run
    value = tl.load(source, on, NONE).to(tl.float64) - top
    for j in range(d):
        following = tl.load(source + j + 1, on & (none + j < d - 1), NONE).to(tl.float64) - top
        here = on & (value != NONE)
        ends = following == NONE
        slope, intercept = tl.full([R], 1.0, tl.float64), -value - weight_before
        other_slope, other_intercept = tl.full([R], 1.0, tl.float64), -value + weight_before
        limit = tl.where(ends, 0.0, -weight)
        at, active = low * R, here & (low <= high)
        active = active & (slope * tl.load(knots + at, active, 0.0) + intercept <= limit)
        while tl.max(active.to(tl.int32), 0) > 0:
            slope += tl.load(slopes + at, active, 0.0)
            intercept += tl.load(intercepts + at, active, 0.0)
            low += active.to(tl.int32)
            at, active = low * R, active & (low <= high)
            active = active & (slope * tl.load(knots + at, active, 0.0) + intercept <= limit)
        at, active = high * R, here & ~ends & (low <= high)
        active = active & (other_slope * tl.load(knots + at, active, 0.0) + other_intercept >= weight)
        while tl.max(active.to(tl.int32), 0) > 0:
            other_slope -= tl.load(slopes + at, active, 0.0)
            other_intercept -= tl.load(intercepts + at, active, 0.0)
            high -= active.to(tl.int32)
            at, active = high * R, active & (low <= high)
            active = active & (other_slope * tl.load(knots + at, active, 0.0) + other_intercept >= weight)
        least = tl.where(here, (limit - intercept) / slope, NONE)
        most = tl.where(here & ~ends, (weight - other_intercept) / other_slope, least)
        tl.store(lower + j * R, least)
        tl.store(upper + j * R, most)
        goes_on = here & ~ends
        low, high = tl.where(goes_on, low - 1, d), tl.where(goes_on, high + 1, d - 1)
        tl.store(knots + low * R, least, goes_on)
        tl.store(slopes + low * R, slope, goes_on)
        tl.store(intercepts + low * R, intercept + weight, goes_on)
        tl.store(knots + high * R, most, goes_on)
        tl.store(slopes + high * R, -other_slope, goes_on)
        tl.store(intercepts + high * R, weight - other_intercept, goes_on)
        tl.debug_barrier()
        value, weight_before = following, tl.where(goes_on, weight, 0.0)


@triton.jit
def _follow(target, on, top, lower, upper, d, R: tl.constexpr):
    """Write the solution minus its largest entry; ``lower (d, R)`` is overwritten.

    From the last entry to the first, each is as near to the next as its bounds permit.
    """
    value = tl.zeros([R], tl.float64)
    largest = tl.full([R], float("-inf"), tl.float64)
    for step in range(d):
        j = d - 1 - step
        value = tl.minimum(tl.maximum(value, tl.load(lower + j * R)), tl.load(upper + j * R))
        largest = tl.maximum(largest, value)
        tl.store(lower + j * R, value)
    tl.debug_barrier()
    largest = tl.where(top != top, float("nan"), tl.where(largest == float("-inf"), 0.0, largest))
    for j in range(d):
        shifted = (tl.load(lower + j * R) - largest).to(target.dtype.element_ty)
        tl.store(target + j, shifted, on)
