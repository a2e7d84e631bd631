"""The Triton kernel of entmax: Newton's method on rows that stay in registers.

The sum of the weights of a row falls to one as the threshold rises. From alpha = 1 to 2, the sum to the power of
alpha - 1 is convex in the threshold, and linear if the scores are equal. So Newton's method takes about five
passes over the row; for sparsemax it ends exactly at the solution (Michelot 1986). Above 2, the unknown is the
smallest weight, as in `cpu`, and bisection determines the support.

Rows that do not fit into registers are read tile by tile in each pass.
"""

from __future__ import annotations

import triton
import triton.language as tl

LINEAR = tl.constexpr(0)
"""Weights ``t`` with t = unknown + b (score - centre), for alpha = 2; the unknown is the weight of the centre."""

SQUARE = tl.constexpr(1)
"""Weights ``t ** 2``, for alpha = 1.5; the unknown is the square root of the weight of the centre."""

CURVED = tl.constexpr(2)
"""Weights ``(1 + b (score - centre - unknown)) ** (1 / b)``, or the limit for b = 0; the threshold is unknown."""

GAPS = tl.constexpr(3)
"""Weights ``(b (score - centre)) ** (1 / b)``, 0 below the centre; the slopes count scores from the centre up."""

SMALLEST = tl.constexpr(4)
"""Weights ``(b (score - centre) + unknown ** b) ** (1 / b)``; the unknown is the weight of the centre."""

MOST_STEPS = tl.constexpr(100)
"""Bound on the number of Newton's steps."""


@triton.jit
def entmax(
    scores, alphas, result, rows, d, stride, ALPHA: tl.constexpr, TOLERANCE: tl.constexpr, HELD: tl.constexpr,
    R: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Write the entmax of R rows.

    Arrays: ``scores (rows, d)``, ``alphas (rows,)`` with a ``stride``, and ``result (rows, d)``. ALPHA is 2, 1.5,
    or 0 to read one alpha for all rows of a program. If HELD, rows have at most B entries and stay in registers;
    otherwise they are read B entries at a time.
    """
    program = tl.program_id(0).to(tl.int64)
    row = (program * R + tl.arange(0, R))[:, None]
    source, target, on = scores + row * d, result + row * d, row < rows
    x = load(source, on, 0, d, float("-inf"), B)
    top = _largest(x, source, on, d, HELD, B)
    centre = tl.where(tl.abs(top) < float("inf"), top, 0.0)
    one = tl.full(top.shape, 1.0, x.dtype)
    if ALPHA == 2.0:
        _solve(x, source, target, on, top, centre, one, 1.0, d, TOLERANCE, LINEAR, HELD, B)
    elif ALPHA == 1.5:
        _solve(x, source, target, on, top, centre, one, 0.5, d, TOLERANCE, SQUARE, HELD, B)
    else:
        b = (tl.load(alphas + program * stride).to(tl.float64) - 1.0).to(x.dtype)
        if b <= 1.0:
            _solve(x, source, target, on, top, centre, 0.0 * one, b, d, TOLERANCE, CURVED, HELD, B)
        else:
            least, count = _least(x, source, on, centre, b, d, HELD, B)
            _solve(x, source, target, on, top, least, 1.0 / count, b, d, TOLERANCE, SMALLEST, HELD, B)


@triton.jit
def load(source, on, start, d, other, B: tl.constexpr):
    """Load a tile: the B entries of each row from ``start`` on, with ``other`` after the end of the row."""
    k = start + tl.arange(0, B)[None, :]
    return tl.load(source + k, on & (k < d), other)


@triton.jit
def _largest(x, source, on, d, HELD: tl.constexpr, B: tl.constexpr):
    """Return the largest score of each row; inf if one is NaN."""
    most = tl.where(x == x, x, float("inf"))
    if not HELD:
        for start in range(B, d, B):
            x = load(source, on, start, d, float("-inf"), B)
            most = tl.maximum(most, tl.where(x == x, x, float("inf")))
    return tl.max(most, 1, keep_dims=True)


@triton.jit
def _solve(
    x, source, target, on, top, centre, unknown, b, d, TOLERANCE: tl.constexpr, KIND: tl.constexpr,
    HELD: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Solve for the unknown of each row for which the weights sum to one; write the weights divided by their sum.

    A row is finished when rounding hides the difference of the sum from one.
    """
    total, slope = _sums(x, source, on, centre, unknown, b, d, KIND, HELD, B)
    excess = tl.abs(total - 1.0)
    going = (tl.abs(top) < float("inf")) & (excess > TOLERANCE)
    steps = 0
    while (tl.max(tl.max(going.to(tl.int32), 1), 0) > 0) & (steps < MOST_STEPS):
        unknown = tl.where(going, unknown + _step(total, slope, b, KIND), unknown)
        total, slope = _sums(x, source, on, centre, unknown, b, d, KIND, HELD, B)
        following = tl.abs(total - 1.0)
        going = going & (following > TOLERANCE) & (following < excess)
        excess = following
        steps += 1
    share = tl.where(top == float("-inf"), 0.0, tl.where(top == float("inf"), float("nan"), 1.0 / total))
    for start in range(0, d, B):
        if not HELD:
            x = load(source, on, start, d, float("-inf"), B)
        weight, _ = _weigh(x, centre, unknown, b, KIND)
        k = start + tl.arange(0, B)[None, :]
        tl.store(target + k, weight * share, on & (k < d))


@triton.jit
def _sums(
    x, source, on, centre, unknown, b, d, KIND: tl.constexpr, HELD: tl.constexpr, B: tl.constexpr
):  # fmt: skip
    """Return the sum of the weights of each row, and the sum of the slopes that `_weigh` returns."""
    weight, slope = _weigh(x, centre, unknown, b, KIND)
    if not HELD:
        for start in range(B, d, B):
            one, two = _weigh(load(source, on, start, d, float("-inf"), B), centre, unknown, b, KIND)
            weight += one
            slope += two
    return tl.sum(weight, 1, keep_dims=True), tl.sum(slope, 1, keep_dims=True)


@triton.jit
def _weigh(x, centre, unknown, b, KIND: tl.constexpr):
    """Return weights, and their slopes up to the factors that `_step` includes."""
    if KIND == LINEAR:
        t = unknown + (x - centre)
        return tl.maximum(t, 0.0), (t > 0.0).to(x.dtype)
    elif KIND == SQUARE:
        t = tl.maximum(unknown + 0.5 * (x - centre), 0.0)
        return t * t, t
    elif KIND == CURVED:
        return _curved(x - centre - unknown, b)
    elif KIND == GAPS:
        return _power(b * (x - centre), 1.0 / b), (x >= centre).to(x.dtype)
    else:
        gap = b * (x - centre)
        weight = tl.where(gap == 0.0, unknown, 0.0)
        weight = tl.where(gap > 0.0, _power(gap + _power(unknown, b), 1.0 / b), weight)
        slope = tl.where(gap > 0.0, _power(unknown / weight, b - 1.0), (gap == 0.0).to(x.dtype))
        return weight, slope


@triton.jit
def _step(total, slope, b, KIND: tl.constexpr):
    """Return Newton's step of the unknown, for the power of the sum that is linear if the scores are equal."""
    if KIND == SQUARE:
        return (tl.sqrt(total) - total) / slope
    elif KIND == CURVED:
        log = tl.log(total)
        small = tl.abs(b * log) < 0.01
        far = (1.0 - tl.exp(-b * log)) / tl.where(b == 0.0, 1.0, b)
        return total * tl.where(small, log * (1.0 - 0.5 * b * log), far) / slope
    else:
        return (1.0 - total) / slope


@triton.jit
def _curved(above, b):
    """Return ``t ** (1 / b)`` with t = 1 + b ``above``, and this power divided by t; 0 where t is not positive.

    Near t = 1 the logarithm of t is a series in f = (t - 1) / (t + 1), which can be divided by b even at b = 0.
    """
    change = b * above
    t = 1.0 + change
    positive, near = t > 0.0, tl.abs(change) < 0.25
    ratio = 1.0 / (2.0 + change)
    square = (change * ratio) * (change * ratio)
    if above.dtype == tl.float64:
        series = 1 / 13 + square * (1 / 15 + square * (1 / 17 + square * (1 / 19 + square * (1 / 21))))
        series = 1 / 7 + square * (1 / 9 + square * (1 / 11 + square * series))
    else:
        series = 1 / 7 + square * (1 / 9)
    series = 1.0 + square * (1 / 3 + square * (1 / 5 + square * series))
    far = tl.log(tl.where(positive, t, 1.0)) / tl.where(b == 0.0, 1.0, b)
    weight = tl.where(positive, tl.exp(tl.where(near, 2.0 * above * ratio * series, far)), 0.0)
    return weight, tl.where(positive, weight / t, 0.0)


@triton.jit
def _power(x, exponent):
    """Return powers of positive numbers, and 0 for others."""
    return tl.where(x > 0.0, tl.exp(exponent * tl.log(tl.where(x > 0.0, x, 1.0))), 0.0)


@triton.jit
def _least(x, source, on, top, b, d, HELD: tl.constexpr, B: tl.constexpr):
    """Return the smallest score of the support of each row for alpha above 2, and the size of the support.

    A score has a positive weight if the weights of the scores above sum to less than one with the threshold at
    this score. Bisection over the bits of floating-point numbers yields the smallest number with this property.
    """
    low, high = _ranked(top - 1.0 / b), _ranked(top)
    for _ in range(x.dtype.primitive_bitwidth):
        middle = (low & high) + ((low ^ high) >> 1)
        total, _ = _sums(x, source, on, _unranked(middle, x), top, b, d, GAPS, HELD, B)
        low, high = tl.where(total < 1.0, low, middle), tl.where(total < 1.0, middle, high)
    bound = _unranked(high, x)
    least = tl.where(x >= bound, x, float("inf"))
    if not HELD:
        for start in range(B, d, B):
            x = load(source, on, start, d, float("-inf"), B)
            least = tl.minimum(least, tl.where(x >= bound, x, float("inf")))
    _, count = _sums(x, source, on, bound, top, b, d, GAPS, HELD, B)
    return tl.min(least, 1, keep_dims=True), count


@triton.jit
def _ranked(x):
    """Return the bits of floating-point numbers as integers in the same order."""
    if x.dtype == tl.float64:
        bits = x.to(tl.int64, bitcast=True)
        return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)
    else:
        bits = x.to(tl.int32, bitcast=True)
        return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _unranked(rank, like):
    """Return the floating-point numbers, in the type of ``like``, for which `_ranked` returns these integers."""
    if like.dtype == tl.float64:
        return (rank ^ ((rank >> 63) & 0x7FFFFFFFFFFFFFFF)).to(tl.float64, bitcast=True)
    else:
        return (rank ^ ((rank >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
