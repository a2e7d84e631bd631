"""The derivative of marginals of long chains in Triton: all blocks of positions at once, from their borders.

In forward mode, the derivative of a marginal along directions of the scores is the marginal times the difference
between its growth and the mean growth at its position. The growth of a marginal is the sum of the growths of its
forward and its backward sum.
Hessians are symmetric, so this is also the gradient of the sum of the marginals times the directions.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import LOWEST, number_of, ratio, settled
from strukt.structures.linear_chain.gpu_backward import clear_padding
from strukt.structures.linear_chain.gpu_extended import multiply
from strukt.structures.linear_chain.gpu_scan import block_of, borders_of, matrix_at, pairs_into, tags_at
from strukt.structures.linear_chain.gpu_scan_growth import add_up, grown, move_of, pair_moves_into
from strukt.structures.linear_chain.gpu_weights import tags_if


@triton.jit
def derivative(
    unary, transition, group_step, step, lengths, sharing, moves, pair_moves, move_group_step, move_step,
    move_sharing, numbers, integers, width, borders, mantissas, exponents, growths, factors, tags, pairs,
    pair_step, n, c, blocks, PER_STEP: tl.constexpr, SEPARATE: tl.constexpr, C: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Write the derivatives of the marginals of tags and of pairs in each block, times the item's factor.

    The grid of programs is (items, blocks).

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        moves, pair_moves, move_group_step, move_step, move_sharing: As in `gpu_scan_growth.multiply_blocks`.
        borders: The growths at borders, as `gpu_scan_growth.sweep` writes them.
        mantissas, exponents, growths: Workspace ``(batch, blocks, SIZE + 1, c)``; growths in float64.
        numbers, integers, width, factors, tags, pairs, pair_step: As in `gpu_scan_backward.outside`.
        n, c, blocks, PER_STEP, SEPARATE, C, SIZE: As there.
    """
    item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length, first, last = block_of(lengths, item, block, SIZE)
    factor = tl.load(factors + item)
    unary += item * n * c
    moves += item * n * c
    tags += item * n * c
    transition += item // sharing * group_step
    pair_moves += item // move_sharing * move_group_step
    work = (item * blocks + block) * (SIZE + 1) * c
    if SEPARATE:
        pairs += item * (n - 1) * c * c
    else:
        pairs += (item * blocks + block) * c * c
    sums, powers = borders_of(numbers, integers, item, width, blocks, c)
    borders += item * 2 * blocks * c
    tag = tl.arange(0, C)
    place, live = block * c + tag, tags_if(first < last, tag, c)
    alpha, power = tl.load(sums + place, live, 0.0), tl.load(powers + place, live, LOWEST)
    growth = tl.load(borders + place, live, 0.0)
    alpha, power, growth = forward(
        unary, transition, step, moves, pair_moves, move_step, mantissas + work, exponents + work, growths + work,
        alpha, power, growth, length, first, last, c, PER_STEP, C,
    )  # fmt: skip
    barrier()
    place += blocks * c
    beta, beta_power = tl.load(sums + place, live, 0.0), tl.load(powers + place, live, LOWEST)
    rise = tl.load(borders + place, live, 0.0)
    backward(
        unary, transition, step, moves, pair_moves, move_step, mantissas + work, exponents + work, growths + work,
        alpha, power, growth, beta, beta_power, rise, length, first, last, c, factor, tags, pairs, pair_step,
        PER_STEP, SEPARATE, C,
    )  # fmt: skip
    clear_padding(
        tags, pairs, pair_step, tl.maximum(length, first), tl.minimum(first + SIZE, n), c, SEPARATE, C
    )


@triton.jit
def forward(
    unary, transition, step, moves, pair_moves, move_step, mantissas, exponents, growths, alpha, power, growth,
    length, first, last, c, PER_STEP: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the forward sums of tags and their growths, before a block and at each of its positions.

    Return the sums (mantissas, exponents) and growths at the last position.
    """
    tag = tl.arange(0, C)
    tl.store(mantissas + tag, alpha, tag < c)
    tl.store(exponents + tag, power, tag < c)
    tl.store(growths + tag, growth, tag < c)
    if not PER_STEP:
        weights, powers = number_of(matrix_at(transition, length > 1, tag, c, c, 1, float("-inf")))
    for t in range(first, last):
        if t > 0:
            if PER_STEP:
                weights, powers = number_of(pairs_into(transition, step, t, last, tag, c, c, 1))
            gains = pair_moves_into(pair_moves, move_step, t, last, tag, c, c, 1)
            alpha, power, growth = add_up(
                alpha[:, None] * weights, power[:, None] + powers, growth[:, None] + gains
            )
        weight, weight_power = number_of(tags_at(unary, t, last, tag, c))
        alpha, power = multiply(alpha, power, weight, weight_power)
        growth = grown(alpha, growth, moves, t, tag, c)
        place = (t - first + 1) * c + tag
        tl.store(mantissas + place, alpha, tag < c)
        tl.store(exponents + place, power, tag < c)
        tl.store(growths + place, growth, tag < c)
    return alpha, power, growth


@triton.jit
def backward(
    unary, transition, step, moves, pair_moves, move_step, mantissas, exponents, growths, alpha, power, growth,
    beta, beta_power, rise, length, first, last, c, factor, tags, pairs, pair_step, PER_STEP: tl.constexpr,
    SEPARATE: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the derivatives of a block from its last position to its first; ``rise`` is the growth of ``beta``.

    Rows of a tile are the second tags of pairs.
    """
    tag = tl.arange(0, C)
    of_pair = tag[None, :] * c + tag[:, None]
    on = (tag < c)[:, None] & (tag < c)[None, :]
    used = tl.zeros([C, C], alpha.dtype)
    if not PER_STEP:
        weights, powers = number_of(matrix_at(transition, length > 1, tag, c, 1, c, float("-inf")))
    for back in range(last - first):
        t = last - 1 - back
        place = (t - first) * c + tag
        before = tl.load(mantissas + place, tag < c, 0.0)
        before_power = tl.load(exponents + place, tag < c, LOWEST)
        before_growth = tl.load(growths + place, tag < c, 0.0)
        way, way_power = multiply(alpha, power, beta, beta_power)
        total, top, mean = add_up(way[:, None], way_power[:, None], (growth + rise)[:, None])
        total, top = settled(total, top)
        change = _change(way, way_power, growth + rise, total, top, mean)
        tl.store(tags + t * c + tag, factor * change, tag < c)
        if t > 0:
            weight, weight_power = number_of(tags_at(unary, t, last, tag, c))
            message, message_power = multiply(tl.where(alpha == 0.0, 0.0, beta), beta_power, weight, weight_power)
            if PER_STEP:
                weights, powers = number_of(pairs_into(transition, step, t, last, tag, c, 1, c))
            ways, ways_power = message[:, None] * weights, message_power[:, None] + powers
            gains = pair_moves_into(pair_moves, move_step, t, last, tag, c, 1, c)
            rises = (rise + move_of(moves, t, tag, c))[:, None] + gains
            through, through_power = settled(ways * before[None, :], ways_power + before_power[None, :])
            changes = _change(
                through, through_power, rises + before_growth[None, :], total[None, :], top[None, :], mean[None, :]
            )
            if SEPARATE:
                here = pairs + (t - 1).to(tl.int64) * pair_step + of_pair
                tl.store(here, factor * changes, on)
            else:
                used += changes
            beta, beta_power, rise = add_up(ways, ways_power, rises)
            beta, beta_power = settled(beta, beta_power)
        alpha, power, growth = before, before_power, before_growth
    if not SEPARATE:
        tl.store(pairs + of_pair, factor * used, on)


@triton.jit
def _change(way, power, growth, total, top, mean):
    """Return the derivatives of marginals: way / total * (growth - mean).

    ``way`` with the exponent ``power`` is an extended number, as is ``total`` with ``top``; ``mean`` is the growth
    of the total.
    """
    share = ratio(way, power, total, top)
    return tl.where(share > 0.0, share * (growth - mean).to(share.dtype), 0.0)
