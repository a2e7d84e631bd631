"""The forward pass of long chains in Triton as a scan: the products of matrices of blocks, all at once.

An item is split into blocks of as many positions. The ways through a block are a product of matrices ``(c, c)``,
which needs no other block. One short loop then multiplies vectors by these products: the sums over ways at the
borders of all blocks, from which the passes within blocks start. Every entry has a mantissa and an exponent, so
that neither rows nor entries of a row underflow, however far scores are apart.

Source: Hassan, Särkkä and García-Fernández 2021, Temporal Parallelization of Inference in Hidden Markov Models.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import LOWEST, log, number_of, scale, settled
from strukt.structures.linear_chain.gpu_extended import multiply
from strukt.structures.linear_chain.gpu_weights import tags_if


@triton.jit
def block_of(lengths, item, block, SIZE: tl.constexpr):
    """Return the length of an item, and the first position of a block and the one after its last."""
    length = tl.load(lengths + item).to(tl.int32)
    first = block * SIZE
    return length, first, tl.minimum(first + SIZE, length)


@triton.jit
def borders_of(numbers, integers, item, width, blocks, c):
    """Return pointers into an item's chart: to mantissas and exponents of sums ``(2, blocks, c)`` at borders.

    The first are those over ways to the last position before a block, 1 before all; the second those over ways
    from the last position of a block to the end.
    """
    size = 8 // (numbers.dtype.element_ty.primitive_bitwidth // 8)
    return numbers + item * (width // 2 * size), integers + (item + 1) * width - 2 * blocks * c


@triton.jit
def tags_at(unary, t, last, tag, c):
    """Load the scores of the tags of a position before ``last``."""
    return tl.load(unary + t * c + tag, tags_if(t < last, tag, c), float("-inf"))


@triton.jit
def matrix_at(entries, some, tag, c, row, column, other):
    """Load a matrix ``(c, c)`` into a tile of these strides; ``other`` outside it, or if not ``some``."""
    live = tags_if(some, tag, c)
    return tl.load(entries + tag[:, None] * row + tag[None, :] * column, live[:, None] & live[None, :], other)


@triton.jit
def pairs_into(transition, step, t, last, tag, c, row, column):
    """Load the scores of pairs whose second tag is at a position t > 0 before ``last``, by strides of a tile."""
    matrix = transition + tl.maximum(t - 1, 0).to(tl.int64) * step
    return matrix_at(matrix, (t > 0) & (t < last), tag, c, row, column, float("-inf"))


@triton.jit
def enter(mantissa, exponent, weights, powers):
    """Return unsettled sums over the first axis of numbers times weights."""
    power = exponent + powers
    top = tl.max(power, 0)
    return tl.sum(mantissa * weights * scale(power - tl.expand_dims(top, 0), mantissa), 0), top


@triton.jit
def multiply_blocks(
    unary, transition, group_step, step, lengths, sharing, mantissas, exponents, n, c, blocks,
    PER_STEP: tl.constexpr, C: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Write the sums over ways through each block, from each tag before it to each tag of its last position.

    Programs are (items, blocks, groups of rows). The first position of all is entered from the same tag.

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        mantissas, exponents: ``(batch, blocks, c, c)``.
        n, c, blocks: The number of positions, of tags and of blocks.
        PER_STEP: Whether positions have matrices of their own.
        C: A power of two, the size of a matrix in registers.
        ROWS: The number of rows of a program.
        SIZE: The number of positions of a block.
    """
    item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length, first, last = block_of(lengths, item, block, SIZE)
    unary += item * n * c
    transition += item // sharing * group_step
    row, tag = tl.program_id(2) * ROWS + tl.arange(0, ROWS), tl.arange(0, C)
    same = row[:, None] == tag[None, :]
    total, top = tl.where(same, 1.0, 0.0).to(unary.dtype.element_ty), tl.where(same, 0, LOWEST)
    score = tags_at(unary, first, last, tag, c)
    if PER_STEP:
        pairs = pairs_into(transition, step, first, last, tag, c, c, 1)
    else:
        weights, powers = number_of(matrix_at(transition, length > 1, tag, c, c, 1, float("-inf")))
    for t in range(first, last):
        weight, power = number_of(score)
        score = tags_at(unary, t + 1, last, tag, c)
        if PER_STEP:
            weights, powers = number_of(pairs)
            pairs = pairs_into(transition, step, t + 1, last, tag, c, c, 1)
        if t > 0:
            total, top = enter(
                tl.trans(total)[:, :, None], tl.trans(top)[:, :, None], weights[:, None, :], powers[:, None, :]
            )
        total, top = multiply(total, top, weight[None, :], power[None, :])
    place = ((item * blocks + block) * c + row[:, None]) * c + tag[None, :]
    on = (row < c)[:, None] & (tag < c)[None, :]
    tl.store(mantissas + place, total, on)
    tl.store(exponents + place, top, on)


@triton.jit
def sweep(
    mantissas, exponents, lengths, numbers, integers, width, log_partitions, c, blocks, C: tl.constexpr,
    SIZE: tl.constexpr,
):  # fmt: skip
    """Write the sums over ways at the borders of blocks to charts, and ``log_partitions``.

    Programs are (items, directions). Sums are relative to the highest of their border, so that the limit of
    exponents is one for each block. Arguments are those of `multiply_blocks`, and:

    Args:
        numbers, integers, width: The chart as numbers, as int32, and the width of an item in these.
        log_partitions: ``(batch,)``.
    """
    item, backward = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length = tl.load(lengths + item).to(tl.int32)
    count, tag = (length + SIZE - 1) // SIZE, tl.arange(0, C)
    row, column = tl.where(backward == 0, c, 1), tl.where(backward == 0, 1, c)
    move = 1 - 2 * backward
    borders, border_powers = borders_of(numbers, integers, item, width, blocks, c)
    block = tl.where(backward == 0, 0, count - 1)
    total, top = tl.where(tag < c, 1.0, 0.0).to(mantissas.dtype.element_ty), tl.where(tag < c, 0, LOWEST)
    product = (item * blocks + block) * c * c
    weights = matrix_at(mantissas + product, count > 0, tag, c, row, column, 0.0)
    powers = matrix_at(exponents + product, count > 0, tag, c, row, column, LOWEST)
    shift = tl.zeros([1], tl.int64)
    for passed in range(count):
        place = (backward * blocks + block) * c + tag
        tl.store(borders + place, total, tag < c)
        tl.store(border_powers + place, top, tag < c)
        total, top = enter(total[:, None], top[:, None], weights, powers)
        block += move
        product += move * c * c
        weights = matrix_at(mantissas + product, passed + 1 < count, tag, c, row, column, 0.0)
        powers = matrix_at(exponents + product, passed + 1 < count, tag, c, row, column, LOWEST)
        total, top = settled(total, top)
        highest = tl.max(top, 0)
        total, top = settled(total, top - highest)
        shift += highest
    if backward == 0:
        highest = tl.max(top, 0)
        result = log(tl.sum(total * scale(top - highest, total), 0), highest + shift)
        result = tl.where(length > 0, result, 0.0).to(log_partitions.dtype.element_ty)
        tl.store(log_partitions + item + tl.zeros([1], tl.int32), result)
