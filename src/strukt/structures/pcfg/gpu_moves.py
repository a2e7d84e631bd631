"""Elementwise functions of dual numbers in Triton.

The derivative of a number along a direction is its *move*. Parameters that end in ``_dm`` and ``_de`` are the
mantissas and exponents of moves.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import LOWEST, add, settled
from strukt.structures.pcfg.gpu_products import numbers_at, plain


@triton.jit
def times_plain(mantissa, exponent, factor):
    """Return settled products of extended numbers and plain factors; 0 times any factor is 0."""
    some = mantissa != 0.0
    factor, power = settled(tl.where(some, factor, 0.0), tl.zeros_like(exponent))
    return settled(mantissa * factor, tl.where(some, exponent, LOWEST) + power)


@triton.jit
def move(mantissas, exponents, directions, out_m, out_e, count, B: tl.constexpr):
    """Write the moves of exponentials of scores: each exponential times the direction of its score."""
    x = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    live = x < count
    mantissa, exponent = numbers_at(mantissas, exponents, x, live)
    direction = tl.load(directions + x, live, 0.0).to(mantissa.dtype)
    mantissa, exponent = times_plain(mantissa, exponent, direction)
    tl.store(out_m + x, mantissa, live)
    tl.store(out_e + x, exponent, live)


@triton.jit
def plain_moves(am, ae, a_dm, a_de, bm, be, b_dm, b_de, out, count, B: tl.constexpr):
    """Write the moves of the elementwise products of dual numbers a and b as plain floats."""
    x = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    live = x < count
    left, power = numbers_at(a_dm, a_de, x, live)
    right, more = numbers_at(bm, be, x, live)
    total, top = left * right, power + more
    left, power = numbers_at(am, ae, x, live)
    right, more = numbers_at(b_dm, b_de, x, live)
    total, top = add(total, top, left * right, power + more)
    tl.store(out + x, plain(total, top), live)
