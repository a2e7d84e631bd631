"""The Triton kernel of entmax's Jacobian times a direction, from entmax's value.

Probabilities stay in registers. Directions would not fit there, too, so they are loaded twice, but only on the
support, which is a small part of a long sparse row.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.sparsemax_entmax.gpu_forward import load


@triton.jit
def pull(
    directions, points, alphas, result, rows, d, stride, ALPHA: tl.constexpr, LOG_MOST: tl.constexpr,
    HELD: tl.constexpr, R: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Write ``s (v - <s, v> / sum s)`` for R rows, with s = p ** (2 - alpha) where p is not 0.

    Arrays: the vectors v, ``directions (rows, d)``; the probabilities p, ``points (rows, d)``; and ``result (rows,
    d)``. The other arguments are those of `gpu_forward.entmax`; LOG_MOST bounds the logarithm of s.
    """
    program = tl.program_id(0).to(tl.int64)
    row = (program * R + tl.arange(0, R))[:, None]
    at, on = row * d, row < rows
    p = load(points + at, on, 0, d, 0.0, B)
    power, shift = 2.0 - ALPHA, tl.zeros([R, 1], p.dtype)
    if ALPHA == 0.0:
        power = (2.0 - tl.load(alphas + program * stride).to(tl.float64)).to(p.dtype)
        if power < 0.0:  # one s may dominate, with the mean close to its v: subtract this v from all first
            shift = _at_smallest(p, directions + at, points + at, on, d, HELD, B)
    s = _weigh(p, power, ALPHA, LOG_MOST)
    weight, product = s, s * _moves(s, directions + at, shift, 0, B)
    if not HELD:
        for start in range(B, d, B):
            s = _weigh(load(points + at, on, start, d, 0.0, B), power, ALPHA, LOG_MOST)
            weight += s
            product += s * _moves(s, directions + at, shift, start, B)
    total = tl.sum(weight, 1, keep_dims=True)
    mean = tl.sum(product, 1, keep_dims=True) / tl.where(total > 0.0, total, 1.0)
    for start in range(0, d, B):
        if not HELD:
            s = _weigh(load(points + at, on, start, d, 0.0, B), power, ALPHA, LOG_MOST)
        v = _moves(s, directions + at, shift, start, B)
        k = start + tl.arange(0, B)[None, :]
        tl.store(result + at + k, tl.where(s != 0.0, s * (v - mean), 0.0), on & (k < d))


@triton.jit
def _weigh(p, power, ALPHA: tl.constexpr, LOG_MOST: tl.constexpr):
    """Return ``p ** power`` where p is not 0, and 0 elsewhere; NaN counts as not 0."""
    if ALPHA == 2.0:
        return (p != 0.0).to(p.dtype)
    elif ALPHA == 1.5:
        return tl.sqrt(p)
    else:
        log = power * tl.log(tl.where(p != 0.0, p, 1.0))
        return tl.where(p != 0.0, tl.exp(tl.where(log > LOG_MOST, LOG_MOST, log)), 0.0)


@triton.jit
def _moves(s, direction, shift, start, B: tl.constexpr):
    """Load a tile of directions and subtract the shift, where s is not 0; return 0 elsewhere."""
    k = start + tl.arange(0, B)[None, :]
    return tl.where(s != 0.0, tl.load(direction + k, s != 0.0, 0.0) - shift, 0.0)


@triton.jit
def _at_smallest(p, direction, point, on, d, HELD: tl.constexpr, B: tl.constexpr):
    """Return the direction of each row at its first smallest positive probability."""
    least, place = _smallest(p, 0, B)
    if not HELD:
        for start in range(B, d, B):
            other, there = _smallest(load(point, on, start, d, 0.0, B), start, B)
            place = tl.where(other < least, there, place)
            least = tl.minimum(least, other)
    return tl.load(direction + place, least < float("inf"), 0.0)


@triton.jit
def _smallest(p, start, B: tl.constexpr):
    """Return the smallest positive probability of each row of a tile, inf if there is none, and its position."""
    positive = tl.where(p > 0.0, p, float("inf"))
    least = tl.min(positive, 1, keep_dims=True)
    k = start + tl.arange(0, B)[None, :]
    return least, tl.min(tl.where(positive == least, k, 2147483647), 1, keep_dims=True)
