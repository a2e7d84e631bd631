"""The backward pass of long chains in Triton: all blocks of positions at once, from the sums at their borders."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import LOWEST, number_of, scale, settled
from strukt.structures.linear_chain.gpu_backward import clear_padding
from strukt.structures.linear_chain.gpu_extended import multiply
from strukt.structures.linear_chain.gpu_scan import (
    block_of,
    borders_of,
    enter,
    matrix_at,
    pairs_into,
    tags_at,
)
from strukt.structures.linear_chain.gpu_weights import tags_if


@triton.jit
def outside(
    unary, transition, group_step, step, lengths, sharing, numbers, integers, width, mantissas, exponents, factors,
    tags, pairs, pair_step, n, c, blocks, PER_STEP: tl.constexpr, SEPARATE: tl.constexpr, C: tl.constexpr,
    SIZE: tl.constexpr,
):  # fmt: skip
    """Write the marginals of tags and of pairs in each block, times the item's factor.

    The grid of programs is (items, blocks).

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        numbers, integers, width, n, c, blocks, PER_STEP, C, SIZE: As in `gpu_scan`.
        mantissas, exponents: Workspace ``(batch, blocks, SIZE + 1, c)``.
        factors: ``(batch,)``.
        tags: ``(batch, n, c)``.
        pairs: The marginals of each step ``(batch, n - 1, c, c)``, or their sums over each block
            ``(batch, blocks, c, c)``.
        pair_step: The stride from a step of ``pairs`` to the next; 0 for sums.
        SEPARATE: Whether ``pairs`` holds each step.
    """
    item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length, first, last = block_of(lengths, item, block, SIZE)
    factor = tl.load(factors + item)
    unary += item * n * c
    tags += item * n * c
    transition += item // sharing * group_step
    mantissas += (item * blocks + block) * (SIZE + 1) * c
    exponents += (item * blocks + block) * (SIZE + 1) * c
    if SEPARATE:
        pairs += item * (n - 1) * c * c
    else:
        pairs += (item * blocks + block) * c * c
    borders, powers = borders_of(numbers, integers, item, width, blocks, c)
    tag = tl.arange(0, C)
    place, live = block * c + tag, tags_if(first < last, tag, c)
    alpha, power = tl.load(borders + place, live, 0.0), tl.load(powers + place, live, LOWEST)
    alpha, power = forward(
        unary, transition, step, mantissas, exponents, alpha, power, length, first, last, c, PER_STEP, C
    )
    barrier()
    place += blocks * c
    beta, beta_power = tl.load(borders + place, live, 0.0), tl.load(powers + place, live, LOWEST)
    backward(
        unary, transition, step, mantissas, exponents, alpha, power, beta, beta_power, length, first, last, c,
        factor, tags, pairs, pair_step, PER_STEP, SEPARATE, C,
    )  # fmt: skip
    clear_padding(
        tags, pairs, pair_step, tl.maximum(length, first), tl.minimum(first + SIZE, n), c, SEPARATE, C
    )


@triton.jit
def forward(
    unary, transition, step, mantissas, exponents, alpha, power, length, first, last, c, PER_STEP: tl.constexpr,
    C: tl.constexpr,
):  # fmt: skip
    """Write the forward sums of tags before a block and at each of its positions; return those at the last.

    ``alpha`` and ``power`` are the sums before the block; pointers are to the entries of the item, or the block.
    """
    tag = tl.arange(0, C)
    tl.store(mantissas + tag, alpha, tag < c)
    tl.store(exponents + tag, power, tag < c)
    score = tags_at(unary, first, last, tag, c)
    if PER_STEP:
        pairs = pairs_into(transition, step, first, last, tag, c, c, 1)
    else:
        weights, powers = number_of(matrix_at(transition, length > 1, tag, c, c, 1, float("-inf")))
    for t in range(first, last):
        weight, weight_power = number_of(score)
        score = tags_at(unary, t + 1, last, tag, c)
        if PER_STEP:
            weights, powers = number_of(pairs)
            pairs = pairs_into(transition, step, t + 1, last, tag, c, c, 1)
        if t > 0:
            alpha, power = enter(alpha[:, None], power[:, None], weights, powers)
        alpha, power = multiply(alpha, power, weight, weight_power)
        place = (t - first + 1) * c + tag
        tl.store(mantissas + place, alpha, tag < c)
        tl.store(exponents + place, power, tag < c)
    return alpha, power


@triton.jit
def backward(
    unary, transition, step, mantissas, exponents, alpha, power, beta, beta_power, length, first, last, c, factor,
    tags, pairs, pair_step, PER_STEP: tl.constexpr, SEPARATE: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the marginals of a block from its last position to its first.

    ``alpha`` and ``beta``, with their powers, are the forward and backward sums at the last position. Rows of a
    tile are the second tags of pairs.
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
        if back % 16 == 0:  # renormalise before rounding errors add up
            beta, beta_power = _normalised(alpha, power, beta, beta_power)
        share, share_power = multiply(alpha, power, beta, beta_power)
        tl.store(tags + t * c + tag, factor * _plain(share, share_power), tag < c)
        beta = tl.where(alpha == 0.0, 0.0, beta)
        if t > 0:
            weight, weight_power = number_of(tags_at(unary, t, last, tag, c))
            message, message_power = multiply(beta, beta_power, weight, weight_power)
            if PER_STEP:
                weights, powers = number_of(pairs_into(transition, step, t, last, tag, c, 1, c))
            beta, beta_power = enter(message[:, None], message_power[:, None], weights, powers)
            beta, beta_power = settled(beta, beta_power)
            uses, uses_power = settled(
                message[:, None] * weights * before[None, :],
                message_power[:, None] + powers + before_power[None, :],
            )
            if SEPARATE:
                uses = factor * _plain(uses, uses_power)
                tl.store(pairs + (t - 1).to(tl.int64) * pair_step + of_pair, uses, on)
            else:
                used += _plain(uses, uses_power)
        alpha, power = before, before_power
    if not SEPARATE:
        tl.store(pairs + of_pair, factor * used, on)


@triton.jit
def _normalised(alpha, power, beta, beta_power):
    """Return beta divided by the sum of alpha * beta, settled; 0 if that sum is 0."""
    product, product_power = multiply(alpha, power, beta, beta_power)
    top = tl.max(product_power, 0)
    total = tl.sum(product * scale(product_power - top, product), 0)
    return settled(beta * tl.where(total > 0.0, 1.0 / total, 0.0), beta_power - top)


@triton.jit
def _plain(mantissa, exponent):
    """Convert settled extended numbers that are at most 1 to plain floats."""
    return mantissa * scale(exponent, mantissa)
