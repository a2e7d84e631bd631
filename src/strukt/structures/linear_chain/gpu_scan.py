"""The forward pass of long chains in Triton as a parallel scan over blocks of positions.

An item is split into blocks of equally many positions. The sums over paths through a block are a product of
matrices ``(c, c)``, which needs no other block, so that all blocks run at once. One short loop then multiplies
vectors by these products, which yields the sums at the borders of all blocks. The passes within blocks start from
these. Every entry has a mantissa and an exponent, so that no entry underflows, however far apart scores are.

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
    """Return the length of an item, the first position of a block, and the position after its last."""
    length = tl.load(lengths + item).to(tl.int32)
    first = block * SIZE
    return length, first, tl.minimum(first + SIZE, length)


@triton.jit
def borders_of(numbers, integers, item, width, blocks, c):
    """Return pointers to the mantissas and to the exponents of an item's sums at borders, ``(2, blocks, c)``.

    ``[0, block, i]`` is the sum over paths that end in tag i at the last position before the block, 1 for the
    first block; ``[1, block, i]`` the sum over paths from tag i at the last position of the block to the end.
    """
    size = 8 // (numbers.dtype.element_ty.primitive_bitwidth // 8)
    return numbers + item * (width // 2 * size), integers + (item + 1) * width - 2 * blocks * c


@triton.jit
def tags_at(unary, t, last, tag, c):
    """Load the scores of the tags at position t; -inf if t is not before ``last``."""
    return tl.load(unary + t * c + tag, tags_if(t < last, tag, c), float("-inf"))


@triton.jit
def matrix_at(entries, some, tag, c, row, column, other):
    """Load a matrix ``(c, c)``, read with the strides ``row`` and ``column``, into a tile.

    Entries outside the matrix are ``other``, as are all entries if ``some`` is False.
    """
    live = tags_if(some, tag, c)
    return tl.load(entries + tag[:, None] * row + tag[None, :] * column, live[:, None] & live[None, :], other)


@triton.jit
def pairs_into(transition, step, t, last, tag, c, row, column):
    """Load the scores of pairs whose second tag is at position t, as `matrix_at` does.

    They are -inf unless 0 < t < ``last``.
    """
    matrix = transition + tl.maximum(t - 1, 0).to(tl.int64) * step
    return matrix_at(matrix, (t > 0) & (t < last), tag, c, row, column, float("-inf"))


@triton.jit
def enter(mantissa, exponent, weights, powers):
    """Return the sums over the first axis of extended numbers times extended weights; they are not settled."""
    power = exponent + powers
    top = tl.max(power, 0)
    return tl.sum(mantissa * weights * scale(power - tl.expand_dims(top, 0), mantissa), 0), top


@triton.jit
def multiply_blocks(
    unary, transition, group_step, step, lengths, sharing, mantissas, exponents, n, c, blocks,
    PER_STEP: tl.constexpr, C: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Write the sums over paths through each block, from each tag before it to each tag at its last position.

    The grid of programs is (items, blocks, groups of rows). No position comes before the first block: row i of its
    product holds the paths that begin with tag i.

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        mantissas, exponents: ``(batch, blocks, c, c)``.
        n, c, blocks: The numbers of positions, of tags and of blocks.
        PER_STEP: Whether each position has its own matrix.
        C: A power of two, the number of rows and columns of a matrix in registers.
        ROWS: The number of rows that a program computes.
        SIZE: The number of positions in a block.
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
    """Write the sums at the borders of blocks to charts, and log-partitions to ``log_partitions``.

    The grid of programs is (items, directions): forward, then backward. Sums are relative to the highest at their
    border, so that the range of exponents limits only the length of a block. Further arguments are those of
    `multiply_blocks`.

    Args:
        numbers, integers, width: The chart as floats and as int32, and the number of int32 entries per item.
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
