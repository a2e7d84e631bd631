"""The forward and backward passes of chains whose matrices do not fit into registers, in Triton.

One program for each item reads its matrix tile by tile at every position; a matrix that items share stays in the
GPU's cache. The rest is as in `gpu_forward` and `gpu_backward`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import LOG_TWO, log, power_of_two
from strukt.structures.linear_chain import gpu_extended
from strukt.structures.linear_chain.gpu_forward import EXTENDED, PLAIN, chart_of
from strukt.structures.linear_chain.gpu_weights import (
    exponent_of,
    finite,
    follow,
    spread,
    tags_if,
    underflows,
    weigh,
    weight_of,
    write_tops,
)


@triton.jit
def measure(transition, group_step, step, steps, highest, least, c, B: tl.constexpr):
    """Write the highest score of each matrix, 0 if it is -inf, and the `gpu_weights.spread` of its weights.

    ``transition`` holds matrices ``(c, c)`` with the strides ``group_step`` and ``step``, ``steps`` of them in
    each group; ``highest`` and ``least`` are ``(groups * steps,)``.
    """
    place = tl.program_id(0).to(tl.int64)
    transition += place // steps * group_step + place % steps * step
    high = tl.full([B], float("-inf"), transition.dtype.element_ty)
    low, low_used = -high, -high
    for start in range(0, c * c, B):
        x = start + tl.arange(0, B)
        score = tl.load(transition + x, x < c * c, float("-inf"))
        high = tl.maximum(high, score)
        low = tl.minimum(low, tl.where(x < c * c, score, float("inf")))
        low_used = tl.minimum(low_used, tl.where(score > float("-inf"), score, float("inf")))
    top = finite(tl.max(high, 0))
    lowest = weight_of(tl.minimum(tl.min(low, 0), top), top)
    tl.store(highest + place, top)
    tl.store(least + place, spread(lowest, weight_of(tl.minimum(tl.min(low_used, 0), top), top)))


@triton.jit
def inside(
    unary, transition, group_step, step, lengths, sharing, highest, least, steps, matrix_step, numbers, integers,
    width, log_partitions, n, c, C: tl.constexpr, K: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Write log-partitions to ``log_partitions``, and the forward sum of each tag at each position to charts.

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        highest, least: As `measure` writes them.
        steps: The number of matrices in a group.
        matrix_step: 1 if each position has its own matrix, else 0.
        numbers, integers, width, log_partitions, n, c: As in `gpu_forward.inside`.
        C: A power of two, at least the number of tags.
        K: The number of rows of a tile of the matrix.
        TILE: The number of rows and columns of a tile of extended numbers.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    unary += item * n * c
    matrix = transition + item // sharing * group_step
    place = item // sharing * steps
    mark, tops, mantissas, exponents = chart_of(numbers, integers, item, width, n, c)
    tag = tl.arange(0, C)
    total, between = write_tops(unary, tops, length, c, C, 2048 // C), tl.zeros([1], tl.float64)
    first = tags_if(length > 0, tag, c)
    alpha = weigh(tl.load(unary + tag, first, float("-inf")), tl.load(tops, length > 0, 0.0))
    tl.store(mantissas + tag, alpha, first)
    barrier()
    underflowed, powers = False, tl.zeros([1], tl.int64)
    for t in range(1, length):
        weight = weigh(tl.load(unary + t * c + tag, tag < c, float("-inf")), tl.load(tops + t))
        best, apart = tl.load(highest + place), tl.load(least + place)
        between += best.to(tl.float64)
        if apart < float("inf"):
            underflowed = underflowed | underflows(alpha, apart)
        power = exponent_of(tl.max(alpha, 0))
        alpha = follow(_entered(matrix, mantissas + (t - 1) * c, best, tag, c, K), weight, power)
        tl.store(mantissas + t * c + tag, alpha, tag < c)
        tl.store(exponents + t * c, power)
        powers += power
        matrix += step
        place += matrix_step
        barrier()
    mass = tl.sum(alpha, 0)
    possible = mass > 0.0
    result = tl.log(tl.where(possible, mass, 1.0).to(tl.float64)) + powers.to(tl.float64) * LOG_TWO
    result = tl.where(possible, result + total + between, tl.where(length > 0, float("-inf"), 0.0))
    underflowed = underflowed | underflows(alpha, float("inf"))
    tl.store(mark, tl.where(underflowed, EXTENDED, PLAIN))
    tl.store(log_partitions + item + tl.zeros([1], tl.int32), result.to(log_partitions.dtype.element_ty))
    if underflowed:
        number, exponent = gpu_extended.forward(
            unary,
            transition + item // sharing * group_step,
            step,
            mantissas,
            exponents,
            length,
            c,
            TILE,
            TILE,
        )
        tl.store(
            log_partitions + item + tl.zeros([1], tl.int32),
            log(number, exponent).to(log_partitions.dtype.element_ty),
        )  # fmt: skip


@triton.jit
def _entered(matrix, alphas, best, tag, c, K: tl.constexpr):
    """Return the forward sums of tags without their weights, from ``alphas``, those of the position before."""
    entered = tl.zeros(tag.shape, matrix.dtype.element_ty)
    for start in range(0, c, K):
        i = start + tl.arange(0, K)
        on = (i < c)[:, None] & (tag < c)[None, :]
        weights = weight_of(tl.load(matrix + i[:, None] * c + tag[None, :], on, float("-inf")), best)
        entered += tl.sum(tl.load(alphas + i, i < c, 0.0)[:, None] * weights, 0)
    return entered


@triton.jit
def outside(
    unary, transition, group_step, step, lengths, sharing, highest, steps, matrix_step, numbers, integers, width,
    messages, powers, factors, tags, pairs, pair_step, n, c, SEPARATE: tl.constexpr, C: tl.constexpr, K:
    tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Write the marginals of tags of each item, times its factor, and those of pairs if SEPARATE.

    Otherwise `add_pairs` must run next; it reads the messages.

    Args:
        unary, transition, group_step, step, lengths, sharing, highest, steps, matrix_step: As in `inside`.
        numbers, integers, width, n, c, C, K, TILE: As there.
        messages: ``(batch, max(n, 2), c)``, the backward sum of each tag times its weight.
        powers: Workspace ``(batch, 2, c)``.
        factors, tags, pairs, pair_step, SEPARATE: As in `gpu_backward.outside`.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    factor = tl.load(factors + item)
    unary += item * n * c
    tags += item * n * c
    transition += item // sharing * group_step
    messages += item * tl.maximum(n, 2) * c
    highest += item // sharing * steps
    mark, tops, mantissas, exponents = chart_of(numbers, integers, item, width, n, c)
    if SEPARATE:
        pairs += item * (n - 1) * c * c
        _clear(pairs, tl.maximum(length - 1, 0).to(tl.int64) * c * c, (item * 0 + n - 1) * c * c)
    else:
        pairs += item * c * c
        _clear(pairs, tl.zeros([], tl.int64), tl.zeros([], tl.int64) + c * c)
    _clear(tags, (length * c).to(tl.int64), (n * c).to(tl.int64))
    barrier()
    if tl.load(mark) == EXTENDED:
        gpu_extended.backward(
            unary, transition, step, mantissas, exponents, messages, powers + item * 2 * c, length, c, factor,
            tags, pairs, pair_step, TILE, TILE
        )  # fmt: skip
    else:
        _backward(
            unary, transition, step, highest, matrix_step, tops, mantissas, exponents, messages, length, c, factor,
            tags, pairs, SEPARATE, C, K
        )  # fmt: skip


@triton.jit
def _clear(memory, start, end):
    """Write zeros to ``memory`` from index ``start`` up to ``end``."""
    for x in range(start, end, 1024):
        place = x + tl.arange(0, 1024)
        tl.store(memory + place, tl.zeros([1024], memory.dtype.element_ty), place < end)


@triton.jit
def _backward(
    unary, transition, step, highest, matrix_step, tops, mantissas, exponents, messages, length, c, factor, tags,
    pairs, SEPARATE: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the marginals of an item whose sums are plain floats, from its last position to its first."""
    tag = tl.arange(0, C)
    beta = tl.full([C], 1.0, mantissas.dtype.element_ty)
    for back in range(length):
        t = length - 1 - back
        alpha = tl.load(mantissas + t * c + tag, tag < c, 0.0)
        if back % 16 == 0:  # renormalise before rounding errors add up
            total = tl.sum(tl.where(alpha > 0.0, alpha * beta, 0.0), 0)
            beta = beta * tl.where(total > 0.0, 1.0 / total, 0.0)
        share = tl.where(alpha > 0.0, alpha * beta, 0.0)
        tl.store(tags + t * c + tag, factor * share, tag < c)
        if t > 0:
            weight = weigh(tl.load(unary + t * c + tag, tag < c, float("-inf")), tl.load(tops + t))
            weight *= power_of_two(-tl.load(exponents + t * c), weight)
            tl.store(messages + t * c + tag, tl.where(alpha > 0.0, weight * beta, 0.0), tag < c)
            barrier()
            before = t.to(tl.int64) - 1
            beta = _step_back(
                transition + before * step, mantissas + (t - 1) * c, tl.load(highest + before * matrix_step),
                messages + t * c, pairs + before * c * c, factor, tag, c, SEPARATE, K
            )  # fmt: skip


@triton.jit
def _step_back(matrix, alphas, best, message, pairs, factor, tag, c, SEPARATE: tl.constexpr, K: tl.constexpr):
    """Return the backward sums of tags one position earlier; if SEPARATE, also write the marginals of pairs.

    ``message (c,)`` is as in `outside`, ``alphas (c,)`` holds the forward sums of the earlier tags.
    """
    beta = tl.zeros(tag.shape, matrix.dtype.element_ty)
    if SEPARATE:
        alpha = factor * tl.load(alphas + tag, tag < c, 0.0)
    for start in range(0, c, K):
        j = start + tl.arange(0, K)
        on = (tag < c)[:, None] & (j < c)[None, :]
        place = tag[:, None] * c + j[None, :]
        ways = weight_of(tl.load(matrix + place, on, float("-inf")), best)
        ways *= tl.load(message + j, j < c, 0.0)[None, :]
        if SEPARATE:
            tl.store(pairs + place, ways * alpha[:, None], on)
        beta += tl.sum(ways, 1)
    return beta


@triton.jit
def add_pairs(
    transition, group_step, lengths, sharing, highest, numbers, integers, width, messages, factors, pairs, n, c,
    B: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Write the expected number of each pair of tags, times the item's factor, for items with plain floats.

    All positions of an item share a matrix here. The grid of programs is (items, tiles of rows, tiles of columns);
    arguments are those of `outside`, and the ``input_precision`` of products.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    messages += item * tl.maximum(n, 2) * c
    mark, _, mantissas, _ = chart_of(numbers, integers, item, width, n, c)
    if tl.load(mark) == PLAIN:
        i, j = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(2) * B + tl.arange(0, B)
        on = (i < c)[:, None] & (j < c)[None, :]
        place = i[:, None] * c + j[None, :]
        used = tl.zeros([B, B], pairs.dtype.element_ty)
        for start in range(0, length - 1, B):
            t = start + tl.arange(0, B)
            some = t < length - 1
            alpha = tl.load(mantissas + t[None, :] * c + i[:, None], (i < c)[:, None] & some[None, :], 0.0)
            message = tl.load(
                messages + (t + 1)[:, None] * c + j[None, :], some[:, None] & (j < c)[None, :], 0.0
            )
            used += tl.dot(alpha, message, input_precision=PRECISION)
        score = tl.load(transition + item // sharing * group_step + place, on, float("-inf"))
        weights = weight_of(score, tl.load(highest + item // sharing))
        uses = tl.load(factors + item) * tl.where(weights > 0.0, weights * used, 0.0)
        tl.store(pairs + item * c * c + place, uses, on)


@triton.jit
def viterbi(
    unary, transition, group_step, step, lengths, sharing, ways, best_scores, n, c, C: tl.constexpr,
    K: tl.constexpr,
):  # fmt: skip
    """Write the best score of each item and of a path to each tag; arguments as in `gpu_viterbi.inside`."""
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    unary += item * n * c
    ways += item * n * c
    transition += item // sharing * group_step
    tag = tl.arange(0, C)
    best = tl.load(unary + tag, tags_if(length > 0, tag, c), float("-inf"))
    tl.store(ways + tag, best, tags_if(length > 0, tag, c))
    barrier()
    total = tl.zeros([1], tl.float64)
    for t in range(1, length):
        top = finite(tl.max(best, 0))
        best = tl.full([C], float("-inf"), best.dtype)
        for start in range(0, c, K):
            i = start + tl.arange(0, K)
            on = (i < c)[:, None] & (tag < c)[None, :]
            score = tl.load(transition + i[:, None] * c + tag[None, :], on, float("-inf"))
            before = tl.load(ways + (t - 1) * c + i, i < c, float("-inf"))
            best = tl.maximum(best, tl.max(before[:, None] + score, 0))
        best = (best - top) + tl.load(unary + t * c + tag, tag < c, float("-inf"))
        total += top.to(tl.float64)
        tl.store(ways + t * c + tag, best, tag < c)
        transition += step
        barrier()
    result = tl.where(length > 0, total + tl.max(best, 0).to(tl.float64), 0.0)
    tl.store(best_scores + item + tl.zeros([1], tl.int32), result.to(best_scores.dtype.element_ty))
