"""The backward pass of the linear chain in Triton: a program for each item, its matrix of weights in registers."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import power_of_two
from strukt.kernels.engine.gpu.sums import barrier
from strukt.structures.linear_chain import gpu_extended
from strukt.structures.linear_chain.gpu_forward import EXTENDED, chart_of
from strukt.structures.linear_chain.gpu_weights import exponent_of, tags_if, weigh, weigh_pairs


@triton.jit(do_not_specialize=["column"])
def outside(
    unary, transition, group_step, step, column, lengths, share, numbers, integers, width, messages, powers,
    factors, tags, pairs, pair_step, n, c, PER_STEP: tl.constexpr, SEPARATE: tl.constexpr, C: tl.constexpr,
    B: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the probabilities of tags and of pairs of each item, times its factor.

    Args:
        unary, transition, group_step, step, column, lengths, share, numbers, integers, width, n, c, PER_STEP, C, B, \
K: As in `inside`; a column is here the stride of the tags to come from.
        messages, powers: Workspace for two rows of extended numbers an item.
        factors: ``(batch,)``.
        tags: ``(batch, n, c)``.
        pairs: ``(batch, steps, c, c)``.
        pair_step: The stride of the steps of these; 0 if there is one for all.
        SEPARATE: Whether there is one for each.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    factor = tl.load(factors + item)
    unary += item * n * c
    tags += item * n * c
    transition += item // share * group_step
    mantissas, exponents, mark = chart_of(numbers, integers, item, width, n * c)
    if SEPARATE:
        pairs += item * (n - 1) * c * c
    else:
        pairs += item * c * c
    tag = tl.arange(0, C)
    live = tag < c
    on = live[:, None] & live[None, :]
    of_pair = tag[:, None] * c + tag[None, :]
    if tl.load(mark) == EXTENDED:
        if not SEPARATE:
            tl.store(pairs + of_pair, tl.zeros([C, C], pairs.dtype.element_ty), on)
            barrier()
        gpu_extended.backward(
            unary, transition, step, mantissas, exponents, messages + item * 2 * c, powers + item * 2 * c, length,
            c, factor, tags, pairs, pair_step, B, K
        )  # fmt: skip
    else:
        place = tag[:, None] * c + tag[None, :] * column
        some = tags_if(length > 1, tag, c)
        pairs_on = some[:, None] & some[None, :]
        if not PER_STEP:
            weights, _, _ = weigh_pairs(tl.load(transition + place, pairs_on, float("-inf")), pairs_on)
        last = tl.maximum(length - 1, 0) * c
        alpha = tl.load(mantissas + last + tag, tags_if(length > 0, tag, c), 0.0)
        score = tl.load(unary + last + tag, tags_if(length > 0, tag, c), float("-inf"))
        beta, used = tl.full([C], 1.0, alpha.dtype), tl.zeros([C, C], alpha.dtype)
        for back in range(length):
            t = length - 1 - back
            use = tl.where(alpha > 0.0, alpha * beta, 0.0)
            total = tl.sum(use, 0)
            scale = tl.where(total > 0.0, 1.0 / total, 0.0)
            tl.store(tags + t * c + tag, factor * (use * scale), live)
            weight, _ = weigh(score)
            message = tl.where(alpha > 0.0, weight * beta, 0.0)[None, :]
            some = tags_if(t > 0, tag, c)
            alpha = tl.load(mantissas + (t - 1) * c + tag, some, 0.0)
            score = tl.load(unary + (t - 1) * c + tag, some, float("-inf"))
            pairs_on = some[:, None] & some[None, :]
            if PER_STEP:
                matrix = tl.load(transition + (t - 1).to(tl.int64) * step + place, pairs_on, float("-inf"))
                weights, _, _ = weigh_pairs(matrix, pairs_on)
            # As the sums at t were scaled, from those before.
            before = (alpha * scale * power_of_two(-exponent_of(tl.max(alpha, 0)), alpha))[:, None]
            ways = message * weights
            if SEPARATE:
                uses = factor * (ways * before)
                tl.store(pairs + (t - 1).to(tl.int64) * pair_step + of_pair, uses, pairs_on)
            else:
                used += message * before
            beta = tl.sum(ways, 1) * scale
        if not SEPARATE:
            tl.store(pairs + of_pair, factor * tl.where(weights > 0.0, weights * used, 0.0), on)
    for t in range(length, n):
        tl.store(tags + t * c + tag, tl.zeros([C], tags.dtype.element_ty), live)
    if SEPARATE:
        pairs += tl.maximum(length - 1, 0).to(tl.int64) * pair_step
        for _ in range(tl.maximum(length, 1), n):
            tl.store(pairs + of_pair, tl.zeros([C, C], pairs.dtype.element_ty), on)
            pairs += pair_step
