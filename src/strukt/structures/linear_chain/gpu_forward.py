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
)

PLAIN, EXTENDED = tl.constexpr(0), tl.constexpr(1)
"""The marks of items by their numbers, in front of their chart."""


@triton.jit
def chart_of(numbers, integers, item, width, cells):
    """Return pointers to the mantissas, the exponents and the mark of an item, given the width in int32.

    The mark comes first, exponents last.
    """
    size: tl.constexpr = 8 // (numbers.dtype.element_ty.primitive_bitwidth // 8)
    mark = integers + item * width
    return numbers + item * (width // 2 * size) + size, mark + width - cells, mark


@triton.jit(do_not_specialize=["column"])
def inside(
    unary, transition, group_step, step, column, lengths, share, numbers, integers, width, found, n, c,
    PER_STEP: tl.constexpr, C: tl.constexpr, B: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write log-partitions to ``found``, and sums over ways to each tag to charts.

    Args:
        unary, transition, lengths, found: As in `LinearChain`.
        group_step, step, column: The strides of transitions: of groups, of positions, and of the tags to go to.
        share: The number of items that share a matrix.
        numbers, integers, width: The chart as numbers, as int32, and the width of an item in these.
        n, c: The number of positions and of tags.
        PER_STEP: Whether positions have matrices of their own.
        C: A power of two, the size of a matrix in registers.
        B, K: The size of a tile of extended numbers.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    unary += item * n * c
    transition += item // share * group_step
    mantissas, exponents, mark = chart_of(numbers, integers, item, width, n * c)
    tag = tl.arange(0, C)
    place = tag[None, :] * c + tag[:, None] * column
    some = tags_if(length > 1, tag, c)
    on = some[:, None] & some[None, :]
    if not PER_STEP:
        weights, top, least = weigh_pairs(tl.load(transition + place, on, float("-inf")), on)
    alpha, first = weigh(tl.load(unary + tag, tags_if(length > 0, tag, c), float("-inf")))
    total = first.to(tl.float64)
    tl.store(mantissas + tag, alpha, tags_if(length > 0, tag, c))
    score = tl.load(unary + c + tag, some, float("-inf"))
    lost, matrix = False, transition
    for t in range(1, length):
        weight, best = weigh(score)
        score = tl.load(unary + (t + 1) * c + tag, tags_if(t + 1 < length, tag, c), float("-inf"))
        if PER_STEP:
            weights, top, least = weigh_pairs(tl.load(matrix + place, on, float("-inf")), on)
            matrix += step
        if least < float("inf"):
            lost = lost | underflows(alpha, least)
        normaliser = exponent_of(tl.max(alpha, 0))
        alpha = follow(tl.sum(alpha[None, :] * weights, 1), weight, normaliser)
        tl.store(mantissas + t * c + tag, alpha, tag < c)
        total += best.to(tl.float64) + top.to(tl.float64) + normaliser.to(tl.float64) * LOG_TWO
    mass = tl.sum(alpha, 0)
    possible = (mass > 0.0) & (length > 0)
    result = tl.log(tl.where(possible, mass, 1.0).to(tl.float64)) + total
    result = tl.where(possible, result, tl.where(length > 0, float("-inf"), 0.0))
    lost = lost | underflows(alpha, float("inf"))
    tl.store(mark, tl.where(lost, EXTENDED, PLAIN))
    tl.store(found + item, result.to(found.dtype.element_ty))
    if lost:
        weight, power = gpu_extended.forward(
            unary, transition, step, mantissas, exponents, length, c, B, K
        )
        tl.store(found + item + tl.zeros([1], tl.int32), log(weight, power).to(found.dtype.element_ty))
