"""The backward pass of the linear chain in Triton: a program for each item, its matrix of weights in registers."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import power_of_two
from strukt.structures.linear_chain import gpu_extended
from strukt.structures.linear_chain.gpu_forward import EXTENDED, chart_of
from strukt.structures.linear_chain.gpu_weights import tags_if, weigh, weigh_pairs


@triton.jit(do_not_specialize=["column"])
def outside(
    unary, transition, group_step, step, lengths, sharing, numbers, integers, width, messages, powers, factors,
    tags, pairs, pair_step, n, c, column, PER_STEP: tl.constexpr, SEPARATE: tl.constexpr, C: tl.constexpr,
    TILE: tl.constexpr,
):  # fmt: skip
    """Write the marginals of tags and of pairs of each item, times its factor.

    Rows of the matrix are the first tags of pairs, columns the second.

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        numbers, integers, width, n, c, column, PER_STEP, C, TILE: As there.
        messages, powers: Workspace for two rows of extended numbers per item, ``(batch, 2, c)``.
        factors: ``(batch,)``.
        tags: ``(batch, n, c)``.
        pairs: ``(batch, steps, c, c)``.
        pair_step: The stride from a step of ``pairs`` to the next; 0 if all steps add to the same matrix.
        SEPARATE: Whether each step has its own matrix in ``pairs``.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    factor = tl.load(factors + item)
    unary += item * n * c
    tags += item * n * c
    transition += item // sharing * group_step
    mark, tops, mantissas, exponents = chart_of(numbers, integers, item, width, n, c)
    if SEPARATE:
        pairs += item * (n - 1) * c * c
    else:
        pairs += item * c * c
    tag = tl.arange(0, C)
    on = (tag < c)[:, None] & (tag < c)[None, :]
    of_pair = tag[:, None] * c + tag[None, :]
    if tl.load(mark) == EXTENDED:
        if not SEPARATE:
            tl.store(pairs + of_pair, tl.zeros([C, C], pairs.dtype.element_ty), on)
            barrier()
        gpu_extended.backward(
            unary, transition, step, mantissas, exponents, messages + item * 2 * c, powers + item * 2 * c, length,
            c, factor, tags, pairs, pair_step, TILE, TILE
        )  # fmt: skip
    else:
        backward(
            unary, transition, step, tops, mantissas, exponents, length, c, column, factor, tags, pairs, pair_step,
            PER_STEP, SEPARATE, C
        )
    clear_padding(tags, pairs, pair_step, length, n, c, SEPARATE, C)


@triton.jit
def backward(
    unary, transition, step, tops, mantissas, exponents, length, c, column, factor, tags, pairs, pair_step,
    PER_STEP: tl.constexpr, SEPARATE: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the marginals of an item whose sums are plain floats, from its last position to its first.

    The arguments are those of `outside`, with pointers to the item's entries.
    """
    tag = tl.arange(0, C)
    of_pair = tag[:, None] * c + tag[None, :]
    place = tag[:, None] * c + tag[None, :] * column
    some = tags_if(length > 1, tag, c)
    pairs_on = some[:, None] & some[None, :]
    if not PER_STEP:
        weights, _, _ = weigh_pairs(tl.load(transition + place, pairs_on, float("-inf")), pairs_on)
    last, some = tl.maximum(length - 1, 0), tags_if(length > 0, tag, c)
    alpha = tl.load(mantissas + last * c + tag, some, 0.0)
    score = tl.load(unary + last * c + tag, some, float("-inf"))
    top, power = tl.load(tops + last, length > 0, 0.0), tl.load(exponents + last * c, last > 0, 0)
    beta, used = tl.full([C], 1.0, alpha.dtype), tl.zeros([C, C], alpha.dtype)
    for back in range(length):
        t = length - 1 - back
        if back % 16 == 0:  # renormalise before rounding errors add up
            total = tl.sum(tl.where(alpha > 0.0, alpha * beta, 0.0), 0)
            beta = beta * tl.where(total > 0.0, 1.0 / total, 0.0)
        share = tl.where(alpha > 0.0, alpha * beta, 0.0)
        tl.store(tags + t * c + tag, factor * share, tag < c)
        weight = weigh(score, top) * power_of_two(-power, alpha)
        message = tl.where(alpha > 0.0, weight * beta, 0.0)[None, :]
        some = tags_if(t > 0, tag, c)
        alpha = tl.load(mantissas + (t - 1) * c + tag, some, 0.0)
        score = tl.load(unary + (t - 1) * c + tag, some, float("-inf"))
        top = tl.load(tops + t - 1, t > 0, 0.0)
        power = tl.load(exponents + (t - 1) * c, t > 1, 0)
        pairs_on = some[:, None] & some[None, :]
        if PER_STEP:
            matrix = transition + (t - 1).to(tl.int64) * step
            weights, _, _ = weigh_pairs(tl.load(matrix + place, pairs_on, float("-inf")), pairs_on)
        ways = message * weights
        if SEPARATE:
            uses = factor * (ways * alpha[:, None])
            tl.store(pairs + (t - 1).to(tl.int64) * pair_step + of_pair, uses, pairs_on)
        else:
            used += message * alpha[:, None]
        beta = tl.sum(ways, 1)
    if not SEPARATE:
        on = (tag < c)[:, None] & (tag < c)[None, :]
        tl.store(pairs + of_pair, factor * tl.where(weights > 0.0, weights * used, 0.0), on)


@triton.jit
def clear_padding(tags, pairs, pair_step, length, n, c, SEPARATE: tl.constexpr, C: tl.constexpr):
    """Write zeros to the marginals of padding: of positions from ``length`` to n, and of steps into them."""
    tag = tl.arange(0, C)
    for t in range(length, n):
        tl.store(tags + t * c + tag, tl.zeros([C], tags.dtype.element_ty), tag < c)
    if SEPARATE:
        on = (tag < c)[:, None] & (tag < c)[None, :]
        pairs += tl.maximum(length - 1, 0).to(tl.int64) * pair_step
        for _ in range(tl.maximum(length, 1), n):
            place = tag[:, None] * c + tag[None, :]
            tl.store(pairs + place, tl.zeros([C, C], pairs.dtype.element_ty), on)
            pairs += pair_step
