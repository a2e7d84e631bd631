"""The forward pass of the linear chain in Triton: a program for each item, its matrix of weights in registers."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import LOG_TWO, log
from strukt.structures.linear_chain import gpu_extended
from strukt.structures.linear_chain.gpu_weights import (
    exponent_of,
    follow,
    tags_if,
    underflows,
    weigh,
    weigh_pairs,
    write_tops,
)

PLAIN, EXTENDED = tl.constexpr(0), tl.constexpr(1)
"""The marks in charts: whether the sums of an item are plain floats or extended numbers."""


@triton.jit
def chart_of(numbers, integers, item, width, n, c):
    """Return pointers into an item's chart: to its mark, highest scores of positions, mantissas and exponents.

    Plain sums share one exponent for each position, stored in place of the first: the power of two by which they
    were divided.
    """
    size = 8 // (numbers.dtype.element_ty.primitive_bitwidth // 8)
    mark = integers + item * width
    tops = numbers + item * (width // 2 * size) + size
    return mark, tops, tops + n * size, mark + width - n * c


@triton.jit
def _sum_and_highest(total, high, term, other):
    """Combine two pairs of a sum and a maximum."""
    return total + term, tl.maximum(high, other)


@triton.jit(do_not_specialize=["column"])
def inside(
    unary, transition, group_step, step, lengths, sharing, numbers, integers, width, log_partitions, n, c, column,
    PER_STEP: tl.constexpr, C: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Write log-partitions to ``log_partitions``, and the forward sum of each tag at each position to charts.

    Rows of the matrix are the second tags of pairs, so that each thread sums whole rows alone. If the compiler saw
    that neighbouring entries are neighbours in memory, it would split rows between threads; ``column`` hides this.

    Args:
        unary: ``(batch, n, c)``.
        transition, group_step, step: Matrices ``(c, c)``, and the strides between groups and between positions.
        lengths: ``(batch,)``.
        sharing: The number of items in a group.
        numbers, integers, width: The chart as floats and as int32, and the number of int32 entries per item.
        log_partitions: ``(batch,)``.
        n, c: The numbers of positions and of tags.
        column: 1, as an argument that the compiler does not specialise.
        PER_STEP: Whether each position has its own matrix.
        C: A power of two, the number of rows and columns of a matrix in registers.
        TILE: The number of rows and columns of a tile of extended numbers.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    unary += item * n * c
    transition += item // sharing * group_step
    mark, tops, mantissas, exponents = chart_of(numbers, integers, item, width, n, c)
    tag = tl.arange(0, C)
    place = tag[:, None] * column + tag[None, :] * c
    first, some = tags_if(length > 0, tag, c), tags_if(length > 1, tag, c)
    on = some[:, None] & some[None, :]
    total, between = write_tops(unary, tops, length, c, C, 32), tl.zeros([1], tl.float64)
    if not PER_STEP:
        weights, best, least = weigh_pairs(tl.load(transition + place, on, float("-inf")), on)
        between += best.to(tl.float64) * tl.maximum(length - 1, 0)
    alpha = weigh(tl.load(unary + tag, first, float("-inf")), tl.load(tops, length > 0, 0.0))
    tl.store(mantissas + tag, alpha, first)
    score, top = tl.load(unary + c + tag, some, float("-inf")), tl.load(tops + 1, length > 1, 0.0)
    underflowed, matrix, powers = False, transition, tl.zeros([C], tl.int64)
    for t in range(1, length):
        weight = weigh(score, top)
        following = t + 1 < length
        score = tl.load(unary + (t + 1) * c + tag, tags_if(following, tag, c), float("-inf"))
        top = tl.load(tops + t + 1, following, 0.0)
        if PER_STEP:
            weights, best, least = weigh_pairs(tl.load(matrix + place, on, float("-inf")), on)
            between += best.to(tl.float64)
            matrix += step
        if least < float("inf"):
            underflowed = underflowed | underflows(alpha, least)
        before = tl.broadcast_to(alpha[None, :], [C, C])
        entered, high = tl.reduce((before * weights, before), 1, _sum_and_highest)
        power = exponent_of(high)
        alpha = follow(entered, weight, power)
        tl.store(mantissas + t * c + tag, alpha, tag < c)
        tl.store(exponents + t * c + tag, power, tag < 1)
        powers += power
    mass = tl.sum(alpha, 0)
    possible = mass > 0.0
    result = tl.log(tl.where(possible, mass, 1.0).to(tl.float64)) + tl.max(powers, 0).to(tl.float64) * LOG_TWO
    result = tl.where(possible, result + total + between, tl.where(length > 0, float("-inf"), 0.0))
    underflowed = underflowed | underflows(alpha, float("inf"))
    tl.store(mark, tl.where(underflowed, EXTENDED, PLAIN))
    tl.store(log_partitions + item + tl.zeros([1], tl.int32), result.to(log_partitions.dtype.element_ty))
    if underflowed:
        number, exponent = gpu_extended.forward(
            unary, transition, step, mantissas, exponents, length, c, TILE, TILE
        )
        tl.store(
            log_partitions + item + tl.zeros([1], tl.int32),
            log(number, exponent).to(log_partitions.dtype.element_ty),
        )  # fmt: skip
