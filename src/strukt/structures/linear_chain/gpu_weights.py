"""Weights of a chain in Triton kernels: exponentials of scores relative to the highest.

Plain floats are exact to rounding as long as no number that matters underflows. A weight or sum that underflows is
replaced by `tiniest`, so that 0 always means that no sequence exists; `underflows` tests whether this may matter:

- In a dense matrix, all weights are within a factor of 2^40 of each other. So are the backward sums of the tags
  before it, and a forward sum below 2^-80 of the best one has no share in any result.
- Otherwise all products of sums and weights must be normal numbers.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import power_of_two


@triton.jit
def tiniest(like):
    """Return the smallest positive normal number in the type of ``like``."""
    return power_of_two(_of_type(-126, -1022, like), like)


@triton.jit
def tags_if(some, tag, c):
    """Return a mask of the tags below c; all False if ``some`` is False."""
    return tag < tl.where(some, c, 0)


@triton.jit
def exponent_of(x):
    """Return the binary exponents of normal numbers; 0 for 0."""
    if x.dtype == tl.float64:
        power = ((x.to(tl.int64, bitcast=True) >> 52) & 2047).to(tl.int32) - 1023
    else:
        power = ((x.to(tl.int32, bitcast=True) >> 23) & 255) - 127
    return tl.where(x == 0.0, 0, power)


@triton.jit
def weigh(score, top):
    """Return the weights of the tags at a position, exp(score - top); at least `tiniest` unless forbidden."""
    weight = tl.maximum(_exponential(score - top), tiniest(score))
    return tl.where(score > float("-inf"), weight, 0.0)


@triton.jit
def write_tops(unary, tops, length, c, C: tl.constexpr, ROWS: tl.constexpr):
    """Write the highest score of each position, ``tops (length,)``, 0 if all tags are forbidden; return their sum.

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
    """Return the weights of a matrix relative to its highest score, that score (0 for -inf) and their `spread`."""
    top = finite(tl.max(tl.max(score, 1), 0))
    weight = weight_of(score, top)
    least = tl.min(tl.min(tl.where(on, weight, 1.0), 1), 0)
    least_used = tl.min(tl.min(tl.where(score > float("-inf"), weight, 1.0), 1), 0)
    return weight, top, spread(least, least_used)


@triton.jit
def weight_of(score, top):
    """Return the weights of pairs, exp(score - top)."""
    return tl.where(score > float("-inf"), _exponential(score - top), 0.0)


@triton.jit
def spread(least, least_used):
    """Return infinity for a dense matrix, else ``least_used``, the smallest weight of the pairs not forbidden.

    A matrix is dense if ``least``, the smallest weight of all pairs, is 2^-40 or more (2^-400 in double
    precision). ``least_used`` is 0 if a weight underflowed.
    """
    dense = least >= power_of_two(_of_type(-40, -400, least), least)
    return tl.where(dense, float("inf"), least_used)


@triton.jit
def finite(top):
    """Return ``top``, or 0 where it is -inf because all scores are forbidden."""
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit
def _exponential(score):
    """Return the exponentials of scores that are at most 0, to 2 ulp; the GPU's instruction is less precise."""
    if score.dtype == tl.float64:
        return tl.exp(tl.maximum(score, -1e3))
    else:
        score = tl.maximum(score, -1e2)
        power = score * 1.44269502162933349609375
        rest = tl.fma(score, 1.44269502162933349609375, -power) + score * 1.925963033500e-8
        return tl.exp2(power) * (1.0 + rest * 0.693147180559945)


@triton.jit
def follow(entered, weight, power):
    """Return the forward sums ``entered * weight * 2^-power``; those that underflow are replaced by `tiniest`."""
    least = tiniest(entered)
    total = tl.maximum(entered * power_of_two(-power, entered) * weight, least)
    total = tl.where(weight > least, total, least)
    return tl.where((entered > 0.0) & (weight > 0.0), total, 0.0)


@triton.jit
def underflows(alpha, least):
    """Return True if products of the sums ``alpha`` and weights of at least ``least`` could underflow."""
    low = tl.min(tl.where(alpha > 0.0, alpha, 1.0), 0)
    high = tl.max(alpha, 0)
    underflowed = low * least < power_of_two(_of_type(-110, -1000, low), low)
    return underflowed | ((high > 0.0) & (high < power_of_two(_of_type(-60, -600, low), low)))


@triton.jit
def _of_type(single, double, like):
    """Return ``double`` if ``like`` is in float64, else ``single``."""
    if like.dtype == tl.float64:
        return double
    else:
        return single
