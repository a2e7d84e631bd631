"""Products of matrices of extended numbers in Triton, of which all passes over a grammar consist.

Extended numbers, and settled ones, are those of `strukt.kernels.engine.gpu.numbers`. A product is first computed
in plain floats. Each row of a tile is divided by its largest power, and these powers are kept apart in the sums. A
term that underflows is then far below the largest possible term, so it matters only for sums that are also far
below it. A tile with such a sum is computed again in extended numbers.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import (
    LOWEST,
    add,
    exponential,
    power_of_two,
    scale,
    settled,
    unit_bits,
)


@triton.jit
def numbers_at(mantissas, exponents, place, on):
    """Load the extended numbers at some indices; 0, with exponent `LOWEST`, where the mask ``on`` is False."""
    mantissa = tl.load(mantissas + place, on, 0.0)
    return mantissa, tl.where(mantissa != 0.0, tl.load(exponents + place, on, LOWEST), LOWEST)


@triton.jit
def plain(mantissa, exponent):
    """Convert extended numbers to plain floats; those out of range become 0 or very large."""
    mantissa, exponent = settled(mantissa, exponent)
    power = tl.minimum(tl.maximum(exponent, -4), 3) << unit_bits(mantissa)
    return tl.where(mantissa == 0.0, 0.0, mantissa * power_of_two(power, mantissa))


@triton.jit
def plain_products(am, ae, bm, be, out, count, B: tl.constexpr):
    """Write the elementwise products of extended numbers a and b as plain floats; all arrays are ``(count,)``."""
    x = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    live = x < count
    left, power = numbers_at(am, ae, x, live)
    right, more = numbers_at(bm, be, x, live)
    tl.store(out + x, plain(left * right, power + more), live)


@triton.jit
def split(scores, mantissas, exponents, count, B: tl.constexpr):
    """Write the exponentials of ``scores (count,)`` as settled ``mantissas`` and ``exponents (count,)``.

    They are 0 for -inf; +inf and NaN stay.
    """
    x = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    live = x < count
    score = tl.load(scores + x, live, 0.0).to(tl.float64)
    exact, power, finite = exponential(score)
    mantissa = tl.where(finite, exact, tl.where(score == float("-inf"), 0.0, score))
    mantissa = mantissa.to(mantissas.dtype.element_ty)
    exponent = power >> unit_bits(mantissa)
    factor = power_of_two(power - (exponent << unit_bits(mantissa)), mantissa)
    tl.store(mantissas + x, mantissa * factor, live)
    tl.store(exponents + x, tl.where(finite, exponent, tl.where(mantissa == 0.0, LOWEST, 0)), live)


@triton.jit(
    do_not_specialize=[
        "a_item", "a_start", "a_first", "b_item", "b_start", "b_first", "c_item", "c_start", "c_first", "starts",
        "rows", "columns", "depth",
    ]
)  # fmt: skip
def multiply(
    am, ae, a_item, a_start, a_first, a_row, a_step, bm, be, b_item, b_start, b_first, b_row, b_step, cm, ce,
    c_item, c_start, c_first, c_row, c_step, starts, rows, columns, depth, ADD: tl.constexpr,
    PRECISION: tl.constexpr, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write sums over k of ``a[r, k] b[c, k]`` to ``out[r, c]`` for every item and start, or add them to it.

    The grid of programs is (items and starts, tiles of rows, tiles of columns).

    Args:
        am, ae, bm, be, cm, ce: The mantissas and exponents of a, b and out.
        a_item, a_start, a_first, a_row, a_step: The strides of a: ``a[r, k]`` is at ``item * a_item + start *
            a_start + a_first + r * a_row + k * a_step``. The same for b and out.
        starts: The number of starts in an item.
        rows, columns, depth: The ranges of r, c and k.
        ADD: Whether to add to the numbers in ``out``.
        PRECISION: The ``input_precision`` of products.
        R, C, K: The ranges of r, c and k in a tile.
    """
    item = (tl.program_id(0) // starts).to(tl.int64)
    start = (tl.program_id(0) % starts).to(tl.int64)
    r = tl.program_id(1) * R + tl.arange(0, R)
    c = tl.program_id(2) * C + tl.arange(0, C)
    a = item * a_item + start * a_start + a_first + r.to(tl.int64) * a_row
    b = item * b_item + start * b_start + b_first + c.to(tl.int64) * b_row
    total, top = _sums(
        am, ae, a, r < rows, a_step, bm, be, b, c < columns, b_step, depth, PRECISION, R, C, K
    )
    out = item * c_item + start * c_start + c_first
    place = out + r.to(tl.int64)[:, None] * c_row + c.to(tl.int64)[None, :] * c_step
    live = (r < rows)[:, None] & (c < columns)[None, :]
    if ADD:
        mantissa, exponent = numbers_at(cm, ce, place, live)
        total, top = add(total, top, mantissa, exponent)
        total, top = settled(total, top)
    tl.store(cm + place, total, live)
    tl.store(ce + place, top, live)


@triton.jit
def _sums(
    am, ae, a, a_on, a_step, bm, be, b, b_on, b_step, depth, PRECISION: tl.constexpr, R: tl.constexpr,
    C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Return the settled sums over k of products of numbers at ``a + k * a_step`` and at ``b + k * b_step``."""
    total, top, underflowed = _plain_sums(
        am, ae, a, a_on, a_step, bm, be, b, b_on, b_step, depth, PRECISION, R, C, K
    )
    underflowed = underflowed & (tl.abs(total) < power_of_two(-20 << (unit_bits(total) - 5), total))
    if tl.max(tl.max(underflowed.to(tl.int32), 1), 0) > 0:
        total, top = _extended_sums(am, ae, a, a_on, a_step, bm, be, b, b_on, b_step, depth, R, C)
    return settled(total, top)


@triton.jit
def _plain_sums(
    am, ae, a, a_on, a_step, bm, be, b, b_on, b_step, depth, PRECISION: tl.constexpr, R: tl.constexpr,
    C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Return the unsettled sums of products in plain floats, and a mask of the sums with an underflowed term.

    A factor that underflows is below 2^-96 of the largest in its row, and the other factor is below 2^32 (2^-768
    and 2^256 in float64). Millions of such products do not matter beside a sum of 2^-20 (2^-160).
    """
    total, top = tl.zeros([R, C], am.dtype.element_ty), tl.full([R, C], LOWEST, tl.int32)
    underflowed = tl.zeros([R, C], tl.int1)
    for start in range(0, depth, K):
        k = start + tl.arange(0, K)
        step = k.to(tl.int64)
        x, x_power = numbers_at(
            am, ae, a[:, None] + step[None, :] * a_step, a_on[:, None] & (k < depth)[None, :]
        )
        y, y_power = numbers_at(
            bm, be, b[None, :] + step[:, None] * b_step, (k < depth)[:, None] & b_on[None, :]
        )
        x_top, y_top = tl.max(x_power, 1), tl.max(y_power, 0)
        x_range = x_top - tl.min(tl.where(x != 0.0, x_power, x_top[:, None]), 1)
        y_range = y_top - tl.min(tl.where(y != 0.0, y_power, y_top[None, :]), 0)
        x *= scale(x_power - x_top[:, None], x)
        y *= scale(y_power - y_top[None, :], y)
        part, power = tl.dot(x, y, input_precision=PRECISION), x_top[:, None] + y_top[None, :]
        higher = tl.maximum(top, power)
        underflowed = underflowed | (x_range[:, None] + y_range[None, :] > 3)
        underflowed = underflowed | ((top - higher < -3) & (total != 0.0)) | (
            (power - higher < -3) & (part != 0.0)
        )
        total = total * scale(top - higher, total) + part * scale(power - higher, total)
        top = higher
    return total, top, underflowed


@triton.jit
def _extended_sums(
    am, ae, a, a_on, a_step, bm, be, b, b_on, b_step, depth, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Return the unsettled sums of products, computed in extended numbers one term after another."""
    total, top = tl.zeros([R, C], am.dtype.element_ty), tl.full([R, C], LOWEST, tl.int32)
    for _ in range(depth):
        x, x_power = numbers_at(am, ae, a, a_on)
        y, y_power = numbers_at(bm, be, b, b_on)
        total, top = add(total, top, x[:, None] * y[None, :], x_power[:, None] + y_power[None, :])
        a += a_step
        b += b_step
    return total, top
