"""Weights of a chain in Triton kernels: exponentials of scores relative to the highest.

Plain numbers are exact to rounding while nothing underflows that matters. A lost weight, or sum, is replaced by
`tiniest`, so that 0 always means that no sequence exists; `underflows` tells whether a loss could matter:

- If all weights of a matrix are within 2^40 of each other, so are the outside sums of the tags before it, and a
  sum lost below 2^-80 of the best one has no share in anything. Call such a matrix dense.
- Otherwise all products of sums and weights must be normal numbers.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import power_of_two


@triton.jit
def tiniest(like):
    """Return the smallest normal number of a type."""
    return power_of_two(_of_type(-126, -1022, like), like)


@triton.jit
def tags_if(some, tag, c):
    """Return a mask of tags; of none if not ``some``."""
    return tag < tl.where(some, c, 0)


@triton.jit
def exponent_of(x):
    """Return the power of two in normal numbers; 0 for 0."""
    if x.dtype == tl.float64:
        power = ((x.to(tl.int64, bitcast=True) >> 52) & 2047).to(tl.int32) - 1023
    else:
        power = ((x.to(tl.int32, bitcast=True) >> 23) & 255) - 127
    return tl.where(x == 0.0, 0, power)


@triton.jit
def weigh(score, top):
    """Return the weights of the tags of a position, relative to the score ``top``."""
    weight = tl.maximum(_exponential(score - top), tiniest(score))
    return tl.where(score > float("-inf"), weight, 0.0)


@triton.jit
def write_tops(unary, tops, length, c, C: tl.constexpr, ROWS: tl.constexpr):
    """Write the highest score of each position, 0 if all are forbidden; return their sum, as float64.

    ROWS is the number of positions in a tile.
    """
    total, tag = tl.zeros([ROWS], tl.float64), tl.arange(0, C)
    for start in range(0, length, ROWS):
        t = start + tl.arange(0, ROWS)
        on = (t < length)[:, None] & (tag < c)[None, :]
        top = finite(tl.max(tl.load(unary + t[:, None] * c + tag[None, :], on, float("-inf")), 1))
        tl.store(tops + t, top, t < length)
        total += tl.where(t < length, top, 0.0).to(tl.float64)
    barrier()
    return tl.sum(total, 0)


@triton.jit
def weigh_pairs(score, on):
    """Return a matrix of weights relative to the highest, its score, and how far weights are apart.

    The last is the smallest weight, 0 if some were lost, or infinite if the matrix is dense.
    """
    top = finite(tl.max(tl.max(score, 1), 0))
    weight = weight_of(score, top)
    least = tl.min(tl.min(tl.where(on, weight, 1.0), 1), 0)
    least_used = tl.min(tl.min(tl.where(score > float("-inf"), weight, 1.0), 1), 0)
    return weight, top, spread(least, least_used)


@triton.jit
def weight_of(score, top):
    """Return the weights of pairs relative to the score ``top``."""
    return tl.where(score > float("-inf"), _exponential(score - top), 0.0)


@triton.jit
def spread(least, least_used):
    """Return ``least_used``, or infinity if the smallest weight, ``least``, is 2^-40 or more (doubles: 2^-400)."""
    dense = least >= power_of_two(_of_type(-40, -400, least), least)
    return tl.where(dense, float("inf"), least_used)


@triton.jit
def finite(top):
    """Return the highest score; 0 if all are forbidden."""
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit
def _exponential(score):
    """Return exponentials of scores up to 0, to 2 ulp, which single instructions for floats do not reach."""
    if score.dtype == tl.float64:
        return tl.exp(tl.maximum(score, -1e3))
    else:
        score = tl.maximum(score, -1e2)
        power = score * 1.44269502162933349609375
        rest = tl.fma(score, 1.44269502162933349609375, -power) + score * 1.925963033500e-8
        return tl.exp2(power) * (1.0 + rest * 0.693147180559945)


@triton.jit
def follow(entered, weight, power):
    """Return the sums over ways to each tag, from those without its weight, scaled by 2^-power."""
    least = tiniest(entered)
    total = tl.maximum(entered * power_of_two(-power, entered) * weight, least)
    total = tl.where(weight > least, total, least)
    return tl.where((entered > 0.0) & (weight > 0.0), total, 0.0)


@triton.jit
def underflows(alpha, least):
    """Return True if products of sums and weights, the smallest of which is ``least``, could underflow."""
    low = tl.min(tl.where(alpha > 0.0, alpha, 1.0), 0)
    high = tl.max(alpha, 0)
    underflowed = low * least < power_of_two(_of_type(-110, -1000, low), low)
    return underflowed | ((high > 0.0) & (high < power_of_two(_of_type(-60, -600, low), low)))


@triton.jit
def _of_type(single, double, like):
    """Return the one of two numbers that belongs to a type."""
    if like.dtype == tl.float64:
        return double
    else:
        return single
