"""The growth of sums over paths along directions of the scores, as a scan over blocks of positions in Triton.

The growth of a sum is the derivative of its logarithm: the mean growth of its terms, weighted by their shares. It
cannot underflow, so it needs no exponent. It is a float64 even for scores in float32: over a long chain it adds up
to many times the differences that matter.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import LOWEST, number_of, scale, settled
from strukt.structures.linear_chain.gpu_extended import multiply
from strukt.structures.linear_chain.gpu_scan import block_of, matrix_at, pairs_into, tags_at


@triton.jit
def add_up(mantissa, exponent, growth):
    """Return sums of extended numbers over the first axis, not settled, and their growths; 0 for sums of 0."""
    top = tl.max(exponent, 0)
    weight = mantissa * scale(exponent - tl.expand_dims(top, 0), mantissa)
    exact = weight.to(tl.float64)
    total = tl.sum(exact, 0)
    mean = tl.sum(tl.where(exact > 0.0, exact * growth, 0.0), 0)  # a growth of a zero term may be any value
    return tl.sum(weight, 0), top, mean / tl.where(total > 0.0, total, 1.0)


@triton.jit
def move_of(moves, t, tag, c):
    """Load the direction of the scores of tags at position t, as float64."""
    return tl.load(moves + t * c + tag, tag < c, 0.0).to(tl.float64)


@triton.jit
def pair_moves_into(moves, step, t, last, tag, c, row, column):
    """Load the direction of the scores of pairs whose second tag is at t, as float64; see `pairs_into`."""
    return pairs_into(moves, step, t, last, tag, c, row, column).to(tl.float64)


@triton.jit
def grown(mantissa, growth, moves, t, tag, c):
    """Return growths plus the direction of the scores of tags at position t; 0 where the mantissa is 0."""
    return tl.where(mantissa > 0.0, growth + move_of(moves, t, tag, c), 0.0)


@triton.jit
def multiply_blocks(
    unary, transition, group_step, step, lengths, sharing, moves, pair_moves, move_group_step, move_step,
    move_sharing, mantissas, exponents, growths, n, c, blocks, PER_STEP: tl.constexpr, C: tl.constexpr,
    ROWS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Write the sums over paths through each block and their growths, ``(batch, blocks, c, c)``.

    The grid of programs and all further arguments are those of `gpu_scan.multiply_blocks`.

    Args:
        moves: ``(batch, n, c)``, the direction of the scores of tags.
        pair_moves, move_group_step, move_step, move_sharing: The direction of the scores of pairs, as in
            `Matrices`.
        growths: ``(batch, blocks, c, c)`` in float64.
    """
    item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length, first, last = block_of(lengths, item, block, SIZE)
    unary += item * n * c
    moves += item * n * c
    transition += item // sharing * group_step
    pair_moves += item // move_sharing * move_group_step
    row, tag = tl.program_id(2) * ROWS + tl.arange(0, ROWS), tl.arange(0, C)
    same = row[:, None] == tag[None, :]
    total, top = tl.where(same, 1.0, 0.0).to(unary.dtype.element_ty), tl.where(same, 0, LOWEST)
    growth = tl.zeros([ROWS, C], tl.float64)
    if not PER_STEP:
        weights, powers = number_of(matrix_at(transition, length > 1, tag, c, c, 1, float("-inf")))
    for t in range(first, last):
        if t > 0:
            if PER_STEP:
                weights, powers = number_of(pairs_into(transition, step, t, last, tag, c, c, 1))
            gains = pair_moves_into(pair_moves, move_step, t, last, tag, c, c, 1)
            total, top, growth = add_up(
                tl.trans(total)[:, :, None] * weights[:, None, :], tl.trans(top)[:, :, None] + powers[:, None, :],
                tl.trans(growth)[:, :, None] + gains[:, None, :],
            )  # fmt: skip
        weight, power = number_of(tags_at(unary, t, last, tag, c))
        total, top = multiply(total, top, weight[None, :], power[None, :])
        growth = grown(total, growth, moves, t, tag[None, :], c)
    place = ((item * blocks + block) * c + row[:, None]) * c + tag[None, :]
    on = (row < c)[:, None] & (tag < c)[None, :]
    tl.store(mantissas + place, total, on)
    tl.store(exponents + place, top, on)
    tl.store(growths + place, growth, on)


@triton.jit
def sweep(
    mantissas, exponents, growths, lengths, borders, result, c, blocks, C: tl.constexpr, SIZE: tl.constexpr
):  # fmt: skip
    """Write the growths of the sums at the borders of blocks, and the derivatives of log-partitions to ``result``.

    The grid of programs is that of `gpu_scan.sweep`; further arguments are those of `multiply_blocks`.

    Args:
        borders: ``(batch, 2, blocks, c)`` in float64, in the order of `gpu_scan.borders_of`.
        result: ``(batch,)``.
    """
    item, backward = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length = tl.load(lengths + item).to(tl.int32)
    count, tag = (length + SIZE - 1) // SIZE, tl.arange(0, C)
    row, column = tl.where(backward == 0, c, 1), tl.where(backward == 0, 1, c)
    total, top = tl.where(tag < c, 1.0, 0.0).to(mantissas.dtype.element_ty), tl.where(tag < c, 0, LOWEST)
    growth = tl.zeros([C], tl.float64)
    for passed in range(count):
        block = tl.where(backward == 0, passed, count - 1 - passed)
        tl.store(borders + ((item * 2 + backward) * blocks + block) * c + tag, growth, tag < c)
        product = (item * blocks + block) * c * c
        weights = matrix_at(mantissas + product, True, tag, c, row, column, 0.0)
        powers = matrix_at(exponents + product, True, tag, c, row, column, LOWEST)
        gains = matrix_at(growths + product, True, tag, c, row, column, 0.0)
        total, top, growth = add_up(total[:, None] * weights, top[:, None] + powers, growth[:, None] + gains)
        total, top = settled(total, top)
        total, top = settled(total, top - tl.max(top, 0))
    if backward == 0:
        _, _, slope = add_up(total[:, None], top[:, None], growth[:, None])
        tl.store(result + item + tl.zeros([1], tl.int32), slope.to(result.dtype.element_ty))
