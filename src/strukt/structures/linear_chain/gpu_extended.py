"""The forward and backward passes of a chain in extended numbers, for items whose plain floats underflow.

An extended number is a mantissa and an exponent. Weights are converted as they are loaded, in tiles, so that any
number of tags fits into registers.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import LOWEST, number_of, ratio, scale, settled


@triton.jit
def forward(
    unary, transition, step, mantissas, exponents, length, c, B: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the forward sum of each tag at each position; return their total at the last one.

    Pointers are to the entries of one item. Tiles of the matrix have K rows and B columns.
    """
    matrix = transition
    for t in range(length):
        for start in range(0, c, B):
            j = start + tl.arange(0, B)
            total, top = number_of(tl.load(unary + t * c + j, j < c, float("-inf")))
            if t > 0:
                before = (t - 1) * c
                entered, power = _sums(
                    matrix, c, 1, mantissas + before, exponents + before, j, c, K
                )
                total, top = multiply(entered, power, total, top)
            tl.store(mantissas + t * c + j, total, j < c)
            tl.store(exponents + t * c + j, top, j < c)
        if t > 0:
            matrix += step
        barrier()
    return total_of(mantissas + (length - 1) * c, exponents + (length - 1) * c, c, K)


@triton.jit
def backward(
    unary, transition, step, mantissas, exponents, messages, powers, length, c, factor, tags, pairs, pair_step,
    B: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the marginals of tags and of pairs, times ``factor``; add those of pairs up if ``pair_step`` is 0.

    ``messages`` and ``powers (2, c)`` are workspace. Pointers are to the entries of one item. Tiles of the matrix
    have B rows and K columns.
    """
    all_weight, all_power = total_of(mantissas + (length - 1) * c, exponents + (length - 1) * c, c, K)
    for back in range(length):
        t = length - 1 - back
        matrix = transition + t.to(tl.int64) * step
        out, after = t % 2 * c, (t + 1) % 2 * c
        for start in range(0, c, B):
            i = start + tl.arange(0, B)
            live = i < c
            beta, power = tl.full([B], 1.0, all_weight.dtype), tl.zeros([B], tl.int32)
            alpha = tl.load(mantissas + t * c + i, live, 0.0)
            alpha_power = tl.load(exponents + t * c + i, live, LOWEST)
            if back > 0:
                beta, power = _sums(matrix, 1, c, messages + after, powers + after, i, c, K)
                _share(
                    matrix, alpha, alpha_power, messages + after, powers + after, all_weight, all_power, factor, i,
                    c, pairs + t.to(tl.int64) * pair_step, pair_step == 0, K
                )
            use = tl.where(alpha == 0.0, 0.0, alpha * beta)
            share = ratio(use, alpha_power + power, all_weight, all_power)
            tl.store(tags + t * c + i, factor * share, live)
            weight, weight_power = number_of(tl.load(unary + t * c + i, live, float("-inf")))
            beta, power = multiply(tl.where(alpha == 0.0, 0.0, beta), power, weight, weight_power)
            tl.store(messages + out + i, beta, live)
            tl.store(powers + out + i, power, live)
        barrier()


@triton.jit
def total_of(mantissas, exponents, count, K: tl.constexpr):
    """Return the settled sum of ``count`` extended numbers, in an array of size 1; K are added at a time."""
    total, top = tl.zeros([1], mantissas.dtype.element_ty), tl.full([1], LOWEST, tl.int32)
    for start in range(0, count, K):
        k = start + tl.arange(0, K)
        mantissa = tl.load(mantissas + k, k < count, 0.0)[None, :]
        total, top = _add(total, top, mantissa, tl.load(exponents + k, k < count, LOWEST)[None, :])
    return settled(total, top)


@triton.jit
def _sums(scores, row, column, mantissas, exponents, j, c, K: tl.constexpr):
    """Return for each j the settled sum over i of number i times exp(``scores[i * row + j * column]``)."""
    total, top = tl.zeros(j.shape, mantissas.dtype.element_ty), tl.full(j.shape, LOWEST, tl.int32)
    for start in range(0, c, K):
        i = start + tl.arange(0, K)
        on = (i < c)[None, :] & (j < c)[:, None]
        weight, power = number_of(tl.load(scores + i[None, :] * row + j[:, None] * column, on, float("-inf")))
        mantissa = tl.load(mantissas + i, i < c, 0.0)[None, :]
        exponent = tl.load(exponents + i, i < c, LOWEST)[None, :]
        mantissa, exponent = multiply(mantissa, exponent, weight, power)
        total, top = _add(total, top, mantissa, exponent)
    return settled(total, top)


@triton.jit
def _share(
    scores, alpha, alpha_power, messages, powers, all_weight, all_power, factor, i, c, out, ADD: tl.constexpr,
    K: tl.constexpr,
):  # fmt: skip
    """Write the marginals of pairs of tags at one step, times a factor, to ``out (c, c)``, or add them if ADD.

    Rows i are the first tags of pairs. ``messages (c,)`` are the backward sums of second tags, with their weights.
    """
    for start in range(0, c, K):
        j = start + tl.arange(0, K)
        on = (i < c)[:, None] & (j < c)[None, :]
        place = i[:, None] * c + j[None, :]
        weight, power = number_of(tl.load(scores + place, on, float("-inf")))
        message = tl.load(messages + j, j < c, 0.0)[None, :]
        message_power = tl.load(powers + j, j < c, LOWEST)[None, :]
        weight, power = multiply(message, message_power, weight, power)
        weight, power = multiply(alpha[:, None], alpha_power[:, None], weight, power)
        share = factor * ratio(weight, power, all_weight[None, :], all_power[None, :])
        if ADD:
            share += tl.load(out + place, on, 0.0)
        tl.store(out + place, share, on)


@triton.jit
def multiply(mantissa, exponent, by, power):
    """Return the settled products of extended numbers; 0 times any number is 0."""
    mantissa = tl.where(mantissa == 0.0, 0.0, mantissa * by)
    return settled(mantissa, tl.where(mantissa == 0.0, LOWEST, exponent + power))


@triton.jit
def _add(total, top, mantissa, exponent):
    """Add the numbers in each row to the row's total; neither total nor result is settled."""
    higher = tl.maximum(top, tl.max(exponent, 1))
    total = total * scale(top - higher, total)
    return total + tl.sum(mantissa * scale(exponent - higher[:, None], mantissa), 1), higher
