"""Triton functions of the Matrix-Tree theorem: elimination without subtraction, and its gradient, in one program.

The algorithm is that of `cpu_matrix_tree`, in extended numbers, which never underflow. So no item needs a second
algorithm, and the arcs of a single root can carry an epsilon, an exponent that no scores reach: every sum then
consists of its terms of lowest order, as in the reference.

A matrix of numbers ``(n, n + 1)`` is stored in three arrays: mantissas, exponents, and *changes*, the derivatives
of the mantissas along a direction of the scores, at the same exponents. Without ``CHANGES`` no code reads or
stores them, and the compiler drops the code that computes them.

The matrices are in global memory; a multiprocessor caches the part that it works on. A step reads and stores them
in tiles of ``R`` rows and ``C`` columns.

Functions have these arguments in common: ``wm``, ``we`` and ``wd`` are pointers to the mantissas, exponents and
changes of an item's weights; ``sm``, ``se`` and ``sd`` to those of its slopes, the derivatives of the log-total
with respect to weights; ``width`` is n + 1. A pivot has the mantissa ``pivot``, the exponent ``power`` and the
change ``rise``.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import LOWEST, power_of_two, scale, settled, unit_bits


@triton.jit
def load(m, e, d, place, on, CHANGES: tl.constexpr):
    """Return mantissas, exponents and changes of numbers, 0 where the mask ``on`` is False.

    Without CHANGES, the third result is arbitrary.
    """
    mantissa, exponent = tl.load(m + place, on, 0.0), tl.load(e + place, on, LOWEST)
    if CHANGES:
        return mantissa, exponent, tl.load(d + place, on, 0.0)
    else:
        return mantissa, exponent, mantissa


@triton.jit
def store(m, e, d, place, on, mantissa, exponent, change, CHANGES: tl.constexpr):
    """Normalise numbers, and store them with their changes."""
    value, power = settled(mantissa, exponent)
    tl.store(m + place, value, on)
    tl.store(e + place, power, on)
    if CHANGES:
        moved = power_of_two(tl.minimum(exponent - power, 3) << unit_bits(mantissa), mantissa)
        tl.store(d + place, tl.where(value != 0.0, change * moved, 0.0), on)


@triton.jit
def add_terms(total, top, rise, mantissa, exponent, change, AXIS: tl.constexpr, CHANGES: tl.constexpr):
    """Add the terms of a tile along AXIS to the sums ``total``, ``top``, ``rise``: mantissas, exponents, changes.

    Return the new sums, which are not normalised.
    """
    higher = tl.maximum(top, tl.max(exponent, AXIS))
    down, by = scale(top - higher, total), scale(exponent - tl.expand_dims(higher, AXIS), mantissa)
    total = total * down + tl.sum(mantissa * by, AXIS)
    if CHANGES:
        rise = rise * down + tl.sum(change * by, AXIS)
    return total, higher, rise


@triton.jit
def zeros(S: tl.constexpr):
    """Return S empty sums: mantissas and changes of 0, with the lowest exponent."""
    return tl.zeros([S], tl.float64), tl.full([S], LOWEST, tl.int32), tl.zeros([S], tl.float64)


@triton.jit
def tile_at(first, start, k, width, R: tl.constexpr, C: tl.constexpr):
    """Return the rows and the columns of a tile, its flat indices, and a mask of rows < k and columns <= k."""
    i, j = first + tl.arange(0, R), start + tl.arange(0, C)
    return i, j, i[:, None] * width + j[None, :], (i < k)[:, None] & (j <= k)[None, :]


@triton.jit
def pivot_of(wm, we, wd, k, width, CHANGES: tl.constexpr, C: tl.constexpr):
    """Return the pivot of word k, the sum of the weights of its remaining heads, in arrays of size 1."""
    total, top, rise = zeros(1)
    for start in range(0, k + 1, C):
        j = (start + tl.arange(0, C))[None, :]
        mantissa, exponent, change = load(wm, we, wd, k * width + j, j <= k, CHANGES)
        total, top, rise = add_terms(total, top, rise, mantissa, exponent, change, 1, CHANGES)
    return total, top, rise


@triton.jit
def shares_of(wm, we, wd, k, j, width, pivot, power, rise, CHANGES: tl.constexpr):
    """Return the shares of word k's heads j in its pivot, not normalised, and their changes; 0 for j > k."""
    mantissa, exponent, change = load(wm, we, wd, k * width + j, j <= k, CHANGES)
    share = mantissa / pivot
    return share, tl.where(share != 0.0, exponent - power, LOWEST), (change - share * rise) / pivot


@triton.jit
def bypass(
    wm, we, wd, k, pivot, power, rise, width, CHANGES: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):  # fmt: skip
    """Eliminate word k: the weight of each path through it is added to the arc between the path's ends."""
    for first in range(0, k, R):
        for start in range(0, k + 1, C):
            i, j, place, on = tile_at(first, start, k, width, R, C)
            share, share_power, share_change = shares_of(wm, we, wd, k, j, width, pivot, power, rise, CHANGES)
            into, into_power, into_change = load(wm, we, wd, i * width + k + 1, i < k, CHANGES)
            direct, direct_power, direct_change = load(wm, we, wd, place, on, CHANGES)
            path = into[:, None] * share[None, :]
            change = into_change[:, None] * share[None, :] + into[:, None] * share_change[None, :]
            some = (path != 0.0) & (j[None, :] != i[:, None] + 1)  # no word is its own head
            path_power = tl.where(some, into_power[:, None] + share_power[None, :], LOWEST)
            higher = tl.maximum(direct_power, path_power)
            down, by = scale(direct_power - higher, direct), scale(path_power - higher, path)
            by = tl.where(some, by, 0.0)
            store(
                wm, we, wd, place, on, direct * down + path * by, higher, direct_change * down + change * by,
                CHANGES,
            )  # fmt: skip


@triton.jit
def eliminate(wm, we, wd, length, width, CHANGES: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """Turn the weights of an item into factors, in place.

    Row k then holds the weights of word k's heads at its elimination, column k + 1 those of k as head, and the
    entry of a word as its own head its pivot. Return the mantissa and the exponent of the total, and the change of
    its log, in arrays of size 1.
    """
    total, top = tl.full([1], 1.0, tl.float64), tl.zeros([1], tl.int32)
    growth, one = tl.zeros([1], tl.float64), tl.zeros([1], tl.int32)
    for step in range(length):
        k = length - 1 - step
        pivot, power, rise = pivot_of(wm, we, wd, k, width, CHANGES, C)
        store(wm, we, wd, one + k * width + k + 1, one == 0, pivot, power, rise, CHANGES)
        total, top = settled(total * pivot, top + power)
        pivot = tl.where(pivot == 0.0, 1.0, pivot)
        growth += rise / pivot
        bypass(wm, we, wd, k, pivot, power, rise, width, CHANGES, R, C)
        barrier()
    return total, top, growth


@triton.jit
def column_of_slopes(
    wm, we, wd, sm, se, sd, k, pivot, power, rise, width, CHANGES: tl.constexpr, R: tl.constexpr,
    C: tl.constexpr,
):  # fmt: skip
    """Write the slopes of word k as head of the words before it.

    Return the sum of the products of these slopes with their weights, and its change, in arrays of size 1.
    """
    through, moved = tl.zeros([1], tl.float64), tl.zeros([1], tl.float64)
    for first in range(0, k, R):
        total, top, growth = zeros(R)
        i = first + tl.arange(0, R)
        for start in range(0, k + 1, C):
            _, j, place, on = tile_at(first, start, k, width, R, C)
            share, share_power, share_change = shares_of(wm, we, wd, k, j, width, pivot, power, rise, CHANGES)
            slope, slope_power, slope_change = load(sm, se, sd, place, on, CHANGES)
            term = slope * share[None, :]
            term_power = tl.where(term != 0.0, slope_power + share_power[None, :], LOWEST)
            change = slope_change * share[None, :] + slope * share_change[None, :]
            total, top, growth = add_terms(total, top, growth, term, term_power, change, 1, CHANGES)
        store(sm, se, sd, i * width + k + 1, i < k, total, top, growth, CHANGES)
        into, into_power, into_change = load(wm, we, wd, i * width + k + 1, i < k, CHANGES)
        by = scale(tl.minimum(into_power + top, 0), total)
        through += tl.sum(into * total * by, 0)
        moved += tl.sum((into_change * total + into * growth) * by, 0)
    return through, moved


@triton.jit
def row_of_slopes(
    wm, we, wd, sm, se, sd, k, pivot, power, rise, through, moved, width, CHANGES: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the slopes of word k's heads; ``through`` and ``moved`` are the results of `column_of_slopes`."""
    rest = 1.0 - through
    for start in range(0, k + 1, C):
        total, top, growth = zeros(C)
        j = start + tl.arange(0, C)
        for first in range(0, k, R):
            i, _, place, on = tile_at(first, start, k, width, R, C)
            into, into_power, into_change = load(wm, we, wd, i * width + k + 1, i < k, CHANGES)
            slope, slope_power, slope_change = load(sm, se, sd, place, on, CHANGES)
            term = into[:, None] * slope
            term_power = tl.where(term != 0.0, into_power[:, None] + slope_power, LOWEST)
            change = into_change[:, None] * slope + into[:, None] * slope_change
            total, top, growth = add_terms(total, top, growth, term, term_power, change, 0, CHANGES)
        higher = tl.maximum(top, 0)
        down, by = scale(top - higher, total), scale(-higher, total)
        total = tl.maximum(total * down + rest * by, 0.0) / pivot
        growth = (growth * down - moved * by - total * rise) / pivot
        store(sm, se, sd, k * width + j, j <= k, total, higher - power, growth, CHANGES)


@triton.jit
def fill_slopes(
    wm, we, wd, sm, se, sd, length, width, CHANGES: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):  # fmt: skip
    """Write the slopes of an item, which must have a tree, from its factors."""
    one = tl.zeros([1], tl.int32)
    for k in range(length):
        place = one + k * width + k + 1
        pivot, power, rise = load(wm, we, wd, place, one == 0, CHANGES)
        through, moved = column_of_slopes(
            wm, we, wd, sm, se, sd, k, pivot, power, rise, width, CHANGES, R, C
        )
        row_of_slopes(
            wm, we, wd, sm, se, sd, k, pivot, power, rise, through, moved, width, CHANGES, R, C
        )
        store(sm, se, sd, place, one == 0, tl.zeros([1], tl.float64), one, pivot, CHANGES)
        barrier()
