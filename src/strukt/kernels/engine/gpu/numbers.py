"""Extended numbers in Triton kernels: a mantissa, and an exponent of a large power of two.

A settled mantissa is from 1 to below 2^32, or 2^256 in float64, and an exponent counts these powers: a product of
three of them, and a sum of thousands of such products, does not overflow, and numbers with logarithms up to 10^10
have exponents of 32 bits. Zero has the mantissa 0.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.launching import for_all_sizes

LOWEST = tl.constexpr(-(1 << 29))
"""The exponent of 0: the sum of three of them still fits into an int32."""

HIGHEST = tl.constexpr(1 << 29)
"""The largest exponent of settled numbers."""

LOG_TWO = tl.constexpr(0.6931471805599453)


@triton.jit
def unit_bits(like):
    """Return b, where one unit of an exponent is 2^(2^b): 5 in float32 (2^32), 8 in float64 (2^256)."""
    if like.dtype == tl.float64:
        return 8
    else:
        return 5


@triton.jit
def power_of_two(power, like):
    """Return two to a power, in the type of ``like``; 0 on underflow."""
    if like.dtype == tl.float64:
        return (tl.maximum(power + 1023, 0).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    else:
        return (tl.maximum(power + 127, 0) << 23).to(tl.float32, bitcast=True)


@triton.jit
def scale(exponent, like):
    """Return the power of two that a difference of exponents, at most 1, stands for; 0 on underflow."""
    return power_of_two(tl.maximum(exponent, -4) << unit_bits(like), like)


@triton.jit
def settled(mantissa, exponent):
    """Return numbers with settled mantissas; infinities and NaN are unchanged."""
    if mantissa.dtype == tl.float64:
        bits = mantissa.to(tl.int64, bitcast=True)
        field = ((bits >> 52) & 2047).to(tl.int32)
        whole = (field - 1023) >> 8
        normal = (bits - (whole.to(tl.int64) << 60)).to(tl.float64, bitcast=True)
        odd = field == 2047
    else:
        bits = mantissa.to(tl.int32, bitcast=True)
        field = (bits >> 23) & 255
        whole = (field - 127) >> 5
        normal = (bits - (whole << 28)).to(tl.float32, bitcast=True)
        odd = field == 255
    moved = tl.minimum(exponent + whole, HIGHEST)
    some = (field > 0) & (moved > LOWEST)
    mantissa = tl.where(odd, mantissa, tl.where(some, normal, 0.0))
    return mantissa, tl.where(odd, 0, tl.where(some, moved, LOWEST))


@triton.jit
def of_item(mantissas, exponents, item, step, power_step):
    """Return pointers to the numbers of an item."""
    return mantissas + item * step, exponents + item * power_step


@triton.jit
def load_number(mantissas, exponents, index, on):
    """Load the mantissas and exponents at ``index``; those of 1 where masked off."""
    return tl.load(mantissas + index, on, 1.0), tl.load(exponents + index, on, 0)


@triton.jit
def product(am, ae, a, bm, be, b, cm, ce, c, on):
    """Return products of the numbers at a, b and c of three arrays, as mantissas and exponents, not settled.

    Factors with a negative b or c are left out. Products are 0 where masked off, and where the first factor is 0.
    """
    second, third = on & (b >= 0), on & (c >= 0)
    first = tl.load(am + a, on, 0.0)
    two, two_power = load_number(bm, be, b, second)
    three, three_power = load_number(cm, ce, c, third)
    mantissa = tl.where(first != 0.0, first * two * three, 0.0)  # the others may be padding
    power = tl.load(ae + a, on, LOWEST) + two_power + three_power
    return mantissa, tl.where(mantissa != 0.0, tl.maximum(power, LOWEST), LOWEST)


@triton.jit
def add(total, top, mantissa, exponent):
    """Return the sum of two numbers, not settled."""
    higher = tl.maximum(top, exponent)
    return total * scale(top - higher, total) + mantissa * scale(exponent - higher, total), higher


@triton.jit
def beside(x, TALL: tl.constexpr):
    """Reshape numbers of rows ``(B,)`` to broadcast over a tile: ``(1, B)`` if it is tall, else ``(B, 1)``."""
    if TALL:
        return x[None, :]
    else:
        return x[:, None]


@triton.jit
def terms_from(start, K: tl.constexpr, TALL: tl.constexpr):
    """Return the indices of K terms from ``start`` on, ``(K, 1)`` if the tile is tall, else ``(1, K)``.

    Neighbouring threads take the last axis of a tile: terms of a row, or rows if it is tall.
    """
    k = start + tl.arange(0, K)
    if TALL:
        return k[:, None]
    else:
        return k[None, :]


@triton.jit
def run_of(first, k, step, TALL: tl.constexpr):
    """Return the indices ``first + k * step`` of terms in the run of each row, as a tile; -1 where ``first`` is.

    ``first`` and ``step`` are ``(B,)``; ``k`` is from `terms_from`.
    """
    first = beside(first, TALL)
    return tl.where(first >= 0, first + k * beside(step, TALL), -1)


@triton.jit
def total_of_terms(x, TALL: tl.constexpr):
    """Return the sum over the terms of each row of a tile, ``(B,)``."""
    if TALL:
        return tl.sum(x, 0)
    else:
        return tl.sum(x, 1)


@triton.jit
def add_share(total, whole, share, gain, TALL: tl.constexpr):
    """Add, over the terms of each row, share times gain to ``total`` and the share to ``whole``, both float64.

    The gain of a term of share 0 may be infinite. Return both sums.
    """
    total += total_of_terms(tl.where(share > 0.0, share * gain, 0.0), TALL)
    return total, whole + total_of_terms(share.to(tl.float64), TALL)


@triton.jit
def mean_of(total, whole):
    """Return a mean from the results of `add_share`; 0 if all shares are 0."""
    # In float32 the sum of shares is 1 to seven digits only, so means are divided by it.
    return tl.where(whole > 0.0, total / tl.where(whole > 0.0, whole, 1.0), 0.0)


@triton.jit
def most_of_terms(x, TALL: tl.constexpr):
    """Return the largest of the terms of each row of a tile, ``(B,)``."""
    if TALL:
        return tl.max(x, 0)
    else:
        return tl.max(x, 1)


@triton.jit
def sum_terms(
    am, ae, a, a_step, bm, be, b, b_step, cm, ce, c, c_step, count, most, K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Return, for each row, the unsettled sum over k < count of the products at a, b and c plus k steps of each.

    ``most`` is at least the largest count.
    """
    total, top = tl.zeros(count.shape, am.dtype.element_ty), tl.full(count.shape, LOWEST, tl.int32)
    for start in range(0, most, K):
        k = terms_from(start, K, TALL)
        on = k < beside(count, TALL)
        mantissa, exponent = product(
            am, ae, run_of(a, k, a_step, TALL), bm, be, run_of(b, k, b_step, TALL), cm, ce,
            run_of(c, k, c_step, TALL), on,
        )  # fmt: skip
        higher = tl.maximum(top, most_of_terms(exponent, TALL))
        total = total * scale(top - higher, total)
        total += total_of_terms(mantissa * scale(exponent - beside(higher, TALL), total), TALL)
        top = higher
    return total, top


@triton.jit
def ratio(mantissa, exponent, base, base_exponent):
    """Return a number divided by a settled one at least as large, as a plain number; 0 / 0 is 0.

    Rounding may leave the base just below a unit of exponents that the number has reached.
    """
    some = mantissa != 0.0
    power = tl.where(some, tl.minimum(exponent - base_exponent, 1), -4)
    return tl.where(some, mantissa / tl.where(base == 0.0, 1.0, base), 0.0) * scale(power, mantissa)


@triton.jit
def log(mantissa, exponent):
    """Return logarithms as float64; -inf for 0."""
    exact = tl.where(mantissa == 0.0, 1.0, mantissa).to(tl.float64)
    result = tl.log(exact) + (exponent.to(tl.int64) << unit_bits(mantissa)).to(tl.float64) * LOG_TWO
    return tl.where(mantissa == 0.0, float("-inf"), result)


@triton.jit
def exponential(score):
    """Return exponentials of scores as factors from 1 to 2 and whole powers of two, and a mask of finite scores.

    Scores are clipped to 10^9 in size, so that sums of exponents do not overflow.
    """
    finite = (score > float("-inf")) & (score < float("inf"))
    exact = tl.minimum(tl.maximum(tl.where(finite, score, 0.0).to(tl.float64), -1e9), 1e9)
    whole = tl.floor(exact * 1.4426950408889634)
    rest = (exact - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10
    rest = tl.minimum(tl.maximum(rest, 0.0), LOG_TWO)
    return tl.exp(rest.to(score.dtype)), whole.to(tl.int32), finite


@triton.jit
def number_of(score):
    """Return exponentials of scores as numbers; 0 for -inf, and +inf and NaN unchanged."""
    mantissa, power, finite = exponential(score)
    exponent = power >> unit_bits(mantissa)
    mantissa *= power_of_two(power - (exponent << unit_bits(mantissa)), mantissa)
    mantissa = tl.where(finite, mantissa, tl.where(score == float("-inf"), 0.0, score))
    return mantissa, tl.where(finite, exponent, tl.where(mantissa == 0.0, LOWEST, 0))


@for_all_sizes
def split(place_scores, places, weights, wm, we, row, B: tl.constexpr):
    """Write exp of ``place_scores (batch, row)`` at ``places (weights,)``, to ``wm`` and ``we (batch, weights)``.

    The results are mantissas and exponents; the grid is (items, blocks of B weights).
    """
    item = tl.program_id(0).to(tl.int64)
    x = tl.program_id(1) * B + tl.arange(0, B)
    live = x < weights
    score = tl.load(place_scores + item * row + tl.load(places + x, live, 0), live, 0.0)
    mantissa, exponent = number_of(score)
    tl.store(wm + item * weights + x, mantissa, live)
    tl.store(we + item * weights + x, exponent, live)


@triton.jit
def load_plain(numbers, index, on):
    """Load plain numbers; 0 where masked off, or where the index is negative."""
    return tl.load(numbers + index, on & (index >= 0), 0.0)


@triton.jit
def surprise(mantissa, exponent, base, base_exponent):
    """Return -log of the share of a number in a settled one; infinite if either is 0."""
    some = (mantissa != 0.0) & (base != 0.0)
    share = ratio(mantissa, exponent, base, base_exponent)
    plain = share > 1e-30
    part = tl.log(tl.where(some, base, 1.0)) - tl.log(tl.where(some, mantissa, 1.0))
    far = part + ((base_exponent - exponent).to(tl.int64) << unit_bits(mantissa)).to(mantissa.dtype) * LOG_TWO
    result = tl.where(plain, -tl.log(tl.where(plain, share, 1.0)), far)
    return tl.where(some, tl.maximum(result, 0.0), float("inf"))


@triton.jit
def of_rest(rest):
    """Return -log(1 - rest) to full precision (Goldberg 1991, theorem 4)."""
    exact = -rest.to(tl.float64)
    one = 1.0 + exact
    whole = one == 1.0
    result = tl.where(whole, exact, tl.log(one) * (exact / tl.where(whole, 1.0, one - 1.0)))
    return -result.to(rest.dtype)


@triton.jit
def without(vm, ve, wm, we, out, whole, live):
    """Return the sums of rows without their weights: cells ``out`` divided by weights ``whole``, settled."""
    value, power = tl.load(vm + out, live, 0.0), tl.load(ve + out, live, 0)
    weight, weight_power = load_number(wm, we, whole, live & (whole >= 0))
    some = value != 0.0
    return settled(tl.where(some, value / tl.where(some, weight, 1.0), 0.0), power - weight_power)


@triton.jit
def uniform(seed, place):
    """Return random numbers in [0, 1) of 53 bits at places of a seed's sequence (Philox, Salmon et al. 2011)."""
    high, low, _, _ = tl.randint4x(seed, place)
    bits = ((high.to(tl.int64) & 0xFFFFFFFF) >> 5 << 26) | ((low.to(tl.int64) & 0xFFFFFFFF) >> 6)
    return bits.to(tl.float64) * 1.1102230246251565e-16


@triton.jit
def gumbel(seed, place):
    """Return the noise with which the largest of log-weights is a sample (Gumbel 1954); places as in `uniform`."""
    return -tl.log(-tl.log(tl.maximum(uniform(seed, place), 1e-17)))
