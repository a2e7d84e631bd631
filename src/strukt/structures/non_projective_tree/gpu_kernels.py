"""Triton kernels of the Matrix-Tree theorem: one program for each item."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import log, number_of, scale
from strukt.kernels.engine.gpu.sums import barrier
from strukt.structures.non_projective_tree.gpu_elimination import eliminate, fill_slopes

ORDER = tl.constexpr(1 << 27)
"""The exponent subtracted for an epsilon, a factor of 10^(10^10)."""


@triton.jit
def parts_of(memory, powers, item, n):
    """Return pointers to mantissas, exponents and the scores of best heads in the memory of an item."""
    size = n * (n + 1)
    words = size + n + size // 2
    return memory + item * words, powers + item * (2 * words) + 2 * (size + n), memory + item * words + size


@triton.jit
def scores_at(arcs, m, h, length, width):
    """Load the scores of heads h of words m, -inf where there is no arc; and the places of all entries."""
    m, h = m[:, None], h[None, :]
    on = (m < length) & (h <= length) & (h != m + 1)
    return tl.load(arcs + m * width + h, on, float("-inf")).to(tl.float64), m * width + h


@triton.jit
def weights_of(score, top, h, SINGLE: tl.constexpr):
    """Return weights relative to those of the best heads; the arcs of a single root carry an epsilon."""
    mantissa, exponent = number_of((score - top[:, None]).to(tl.float64))
    if SINGLE:
        exponent -= tl.where((h == 0)[None, :] & (mantissa != 0.0), ORDER, 0)
    return mantissa, exponent


@triton.jit
def load_weights(
    arcs, wm, we, tops, length, width, SINGLE: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):  # fmt: skip
    """Write the weights of an item, and the score of each word's best head; return the sum of these."""
    shift = tl.zeros([1], tl.float64)
    for first in range(0, length, R):
        m = first + tl.arange(0, R)
        top = tl.full([R], float("-inf"), tl.float64)
        for start in range(0, length + 1, C):
            score, _ = scores_at(arcs, m, start + tl.arange(0, C), length, width)
            top = tl.maximum(top, tl.max(score, 1))
        top = tl.where(top > float("-inf"), top, 0.0)
        shift += tl.sum(top, 0)
        tl.store(tops + m, top, m < length)
        for start in range(0, length + 1, C):
            h = start + tl.arange(0, C)
            score, place = scores_at(arcs, m, h, length, width)
            mantissa, exponent = weights_of(score, top, h, SINGLE)
            on = (m < length)[:, None] & (h <= length)[None, :]
            tl.store(wm + place, mantissa, on)
            tl.store(we + place, exponent, on)
    return shift


@triton.jit(do_not_specialize=["n"])
def inside(
    arcs, lengths, chart, powers, found, n, SINGLE: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):  # fmt: skip
    """Fill the chart with factors, and write log-partitions to ``found``.

    The pivot of word 0 becomes 0 if there is no tree.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    wm, we, tops = parts_of(chart, powers, item, n)
    shift = load_weights(arcs + item * n * (n + 1), wm, we, tops, length, n + 1, SINGLE, R, C)
    barrier()
    total, top, _ = eliminate(wm, we, wm, length, n + 1, False, R, C)
    if SINGLE:
        top += tl.where(length > 0, ORDER, 0)
        total = tl.where(top > -(ORDER // 2), total, 0.0)  # else the trees of lowest order have many roots
    one = tl.zeros([1], tl.int32)
    tl.store(wm + 1 + one, total, (total == 0.0) & (one + length > 0))
    tl.store(found + item + one, (log(total, top) + shift).to(found.dtype.element_ty))


@triton.jit
def length_if_possible(lengths, item, wm):
    """Return the length of an item from its chart, 0 if there is no tree."""
    length = tl.load(lengths + item).to(tl.int32)
    return tl.where(tl.load(wm + 1, length > 0, 0.0) != 0.0, length, 0)


@triton.jit(do_not_specialize=["n"])
def outside(
    arcs, lengths, chart, powers, room, room_powers, factors, marginals, n, SINGLE: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the probability of each arc, times the factor of its item."""
    item = tl.program_id(0).to(tl.int64)
    width = n + 1
    wm, we, tops = parts_of(chart, powers, item, n)
    sm, se, _ = parts_of(room, room_powers, item, n)
    length = length_if_possible(lengths, item, wm)
    arcs, marginals = arcs + item * n * width, marginals + item * n * width
    fill_slopes(wm, we, wm, sm, se, sm, length, width, False, R, C)
    factor = tl.load(factors + item).to(tl.float64)
    for first in range(0, n, R):
        for start in range(0, width, C):
            m, h = first + tl.arange(0, R), start + tl.arange(0, C)
            score, place = scores_at(arcs, m, h, length, width)
            mantissa, exponent = weights_of(score, tl.load(tops + m, m < length, 0.0), h, SINGLE)
            some = mantissa != 0.0
            slope, power = tl.load(sm + place, some, 0.0), tl.load(se + place, some, 0)
            use = factor * mantissa * slope * scale(tl.minimum(exponent + power, 0), slope)
            on = (m < n)[:, None] & (h < width)[None, :]
            tl.store(marginals + place, use.to(marginals.dtype.element_ty), on)


@triton.jit
def move(arcs, directions, wm, wd, length, width, R: tl.constexpr, C: tl.constexpr):
    """Write the changes of weights along directions of the scores, which are arbitrary where weights are 0."""
    for first in range(0, length, R):
        for start in range(0, length + 1, C):
            m, h = first + tl.arange(0, R), start + tl.arange(0, C)
            _, place = scores_at(arcs, m, h, length, width)
            on = (m < length)[:, None] & (h <= length)[None, :]
            mantissa = tl.load(wm + place, on, 0.0)
            direction = tl.load(directions + place, mantissa != 0.0, 0.0).to(tl.float64)
            tl.store(wd + place, mantissa * direction, on)


@triton.jit(do_not_specialize=["n"])
def derivative(
    arcs, lengths, chart, factors, directions, room, room_powers, slopes, slope_powers, changes, grads, growths,
    n, SINGLE: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the gradient of <`outside`, directions> in the scores to ``grads``, in the factors to ``growths``.

    It eliminates again, now with changes.
    """
    item = tl.program_id(0).to(tl.int64)
    width = n + 1
    length = length_if_possible(lengths, item, chart + item * (n * width + n + n * width // 2))
    wm, we, tops = parts_of(room, room_powers, item, n)
    sm, se, _ = parts_of(slopes, slope_powers, item, n)
    wd = changes + item * (2 * n * width)
    sd = wd + n * width
    arcs, directions, grads = arcs + item * n * width, directions + item * n * width, grads + item * n * width
    load_weights(arcs, wm, we, tops, length, width, SINGLE, R, C)
    barrier()
    move(arcs, directions, wm, wd, length, width, R, C)
    barrier()
    _, _, growth = eliminate(wm, we, wd, length, width, True, R, C)
    tl.store(growths + item + tl.zeros([1], tl.int32), growth.to(growths.dtype.element_ty))
    fill_slopes(wm, we, wd, sm, se, sd, length, width, True, R, C)
    factor = tl.load(factors + item).to(tl.float64)
    for first in range(0, n, R):
        for start in range(0, width, C):
            m, h = first + tl.arange(0, R), start + tl.arange(0, C)
            score, place = scores_at(arcs, m, h, length, width)
            mantissa, exponent = weights_of(score, tl.load(tops + m, m < length, 0.0), h, SINGLE)
            some = mantissa != 0.0
            slope, power = tl.load(sm + place, some, 0.0), tl.load(se + place, some, 0)
            direction = tl.load(directions + place, some, 0.0).to(tl.float64)
            change = direction * slope + tl.load(sd + place, some, 0.0)
            result = factor * mantissa * change * scale(tl.minimum(exponent + power, 0), slope)
            on = (m < n)[:, None] & (h < width)[None, :]
            tl.store(grads + place, result.to(grads.dtype.element_ty), on)
