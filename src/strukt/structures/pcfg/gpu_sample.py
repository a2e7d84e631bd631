"""Samples of trees of a grammar in Triton, drawn from the root downwards, from the inside chart.

One program draws one tree. The split point of a span and the label of its right child are drawn together, from
sums over the labels of the left child, which is drawn last. Each draw is the largest log-weight plus Gumbel noise
(Gumbel 1954), so that no total is needed.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import LOWEST, gumbel, log, scale
from strukt.structures.pcfg.gpu_cky import first_best, push, values_of
from strukt.structures.pcfg.gpu_products import numbers_at


@triton.jit
def noisy(mantissa, exponent, seed, place):
    """Return the logs of numbers plus Gumbel noise, which depends on the seed and on ``place``; -inf for 0."""
    return log(mantissa, exponent) + gumbel(seed, place)


@triton.jit
def rules_of(pairs, beside, before, label, left_word, right_word, s, p, width):
    """Return a pointer to the numbers of a label's rules, and the strides of labels of left and right children.

    ``left_word`` and ``right_word`` are True if that child is a word. The arrays are those of `gpu_charts.Tables`,
    of one grammar; ``width`` is the number of pairs, including padding.
    """
    ending = beside + (label * (s + p) + tl.where(left_word, s, 0)) * p
    rules = tl.where(left_word, before + label * s * p, pairs + label * width)
    b_step, c_step = tl.where(left_word, 1, s), tl.where(left_word, p, 1)
    return tl.where(right_word, ending, rules), tl.where(right_word, p, b_step), tl.where(right_word, 1, c_step)


@triton.jit
def summed_left(am, ae, count, rm, re, b_step, c_step, c, on, B: tl.constexpr, C: tl.constexpr):
    """Return, for labels ``c`` of a right child, the sums over labels of the left child of number times rule.

    The sums are not settled. ``am`` and ``ae`` point to the ``count`` numbers of the left child, ``rm`` and ``re``
    to the rules; ``on`` is a mask of the labels ``c``.
    """
    total, top = tl.zeros([C], am.dtype.element_ty), tl.full([C], LOWEST, tl.int32)
    for start in range(0, count, B):
        b = start + tl.arange(0, B)
        left, power = numbers_at(am, ae, b, b < count)
        live = (b < count)[:, None] & on[None, :]
        rule, more = numbers_at(rm, re, (b * b_step)[:, None] + (c * c_step)[None, :], live)
        exponent = power[:, None] + more
        higher = tl.maximum(top, tl.max(exponent, 0))
        by = scale(exponent - higher[None, :], total)
        total = total * scale(top - higher, total) + tl.sum(left[:, None] * rule * by, 0)
        top = higher
    return total, top


@triton.jit
def draw_children(
    chart_m, chart_e, words_m, words_e, pairs_m, pairs_e, beside_m, beside_e, before_m, before_e, label, i, j, n,
    s, p, width, seed, place, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Draw the children of a span; return the fencepost between them, and their labels.

    Random numbers are those of ``seed`` from ``place`` on.
    """
    top, split, right = tl.full([], float("-inf"), tl.float64), i, i * 0
    for k in range(i + 1, j):
        am, _, left_count = values_of(chart_m, words_m, i, k, n + 1, s, p)
        ae, _, _ = values_of(chart_e, words_e, i, k, n + 1, s, p)
        bm, first, count = values_of(chart_m, words_m, k, j, n + 1, s, p)
        be, _, _ = values_of(chart_e, words_e, k, j, n + 1, s, p)
        rm, b_step, c_step = rules_of(pairs_m, beside_m, before_m, label, k == i + 1, j == k + 1, s, p, width)
        re, _, _ = rules_of(pairs_e, beside_e, before_e, label, k == i + 1, j == k + 1, s, p, width)
        for start in range(0, count, C):
            c = start + tl.arange(0, C)
            total, power = summed_left(am, ae, left_count, rm, re, b_step, c_step, c, c < count, B, C)
            below, more = numbers_at(bm, be, c, c < count)
            each = noisy(total * below, power + more, seed, place + (k - i) * (s + p) + first + c)
            split = tl.where(tl.max(each, 0) > top, k, split)
            top, right = first_best(top, right, each, first + start)
    am, first, count = values_of(chart_m, words_m, i, split, n + 1, s, p)
    ae, _, _ = values_of(chart_e, words_e, i, split, n + 1, s, p)
    left_word, right_word = split == i + 1, j == split + 1
    rm, b_step, c_step = rules_of(pairs_m, beside_m, before_m, label, left_word, right_word, s, p, width)
    re, _, _ = rules_of(pairs_e, beside_e, before_e, label, left_word, right_word, s, p, width)
    child = right - tl.where(right_word, s, 0)
    top, left = tl.full([], float("-inf"), tl.float64), first
    for start in range(0, count, C):
        b = start + tl.arange(0, C)
        above, power = numbers_at(am, ae, b, b < count)
        rule, more = numbers_at(rm, re, b * b_step + child * c_step, b < count)
        top, left = first_best(top, left, noisy(above * rule, power + more, seed, place + b), first + start)
    return split, left, right


@triton.jit(do_not_specialize=["count", "n"])
def walk(
    chart_m, chart_e, words_m, words_e, root_m, root_e, pairs_m, pairs_e, beside_m, beside_e, before_m, before_e,
    root_sharing, sharing, lengths, seeds, queue, events, count, n, s, p, width, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the labels of the spans of trees, for items that have a tree; one program for each of items x count.

    Arguments that end in ``_m`` and ``_e`` are mantissas and exponents.

    Args:
        chart_m, chart_e: ``(batch, n + 1, n + 1, s)``, the numbers of spans.
        words_m, words_e: ``(batch, n, p)``, the numbers of words.
        root_m, root_e, root_sharing: ``(groups, s)``, the numbers of roots, and the number of items in a group.
        pairs_m, pairs_e, beside_m, beside_e, before_m, before_e: The numbers of rules; see `gpu_charts.Tables`.
        sharing: The number of items that share a grammar.
        lengths: ``(batch,)``.
        seeds: ``(batch, count)``.
        queue: Workspace ``(batch, count, 2 n, 3)`` for the fenceposts of spans, and their labels.
        events: ``(batch, count, n + 1, n + 1)``, all -1.
        count, n, s, p: The numbers of samples, words, nonterminals and preterminals.
        width: The number of pairs of children, including padding.
        B, C: The numbers of labels of left and of right children in a tile of rules.
    """
    draw, size, labels = tl.program_id(0).to(tl.int64), n + 1, s + p
    item = draw // count
    length, seed = tl.load(lengths + item).to(tl.int32), tl.load(seeds + draw)
    chart, words, group = item * size * size * s, item * n * p, item // sharing
    pairs, beside, before = group * s * width, group * s * labels * p, group * s * s * p
    queue += draw * 6 * n
    events += draw * size * size
    top, label = tl.full([], float("-inf"), tl.float64), tl.full([], 0, tl.int32)
    numbers = seed * 0 + size * labels  # per span
    for start in range(0, s, C):
        c = start + tl.arange(0, C)
        below, power = numbers_at(chart_m, chart_e, chart + length * s + c, c < s)
        root, more = numbers_at(root_m, root_e, item // root_sharing * s + c, c < s)
        top, label = first_best(top, label, noisy(below * root, power + more, seed, c.to(tl.int64)), start)
    push(queue, 0, length, label)
    barrier()
    end = 1
    for node in range(tl.where(top > float("-inf"), 2 * length - 1, 0)):
        i, j, label = tl.load(queue + 3 * node), tl.load(queue + 3 * node + 1), tl.load(queue + 3 * node + 2)
        tl.store(events + i * size + j, label.to(tl.int64))
        if j - i > 1:
            split, left, right = draw_children(
                chart_m + chart, chart_e + chart, words_m + words, words_e + words, pairs_m + pairs,
                pairs_e + pairs, beside_m + beside, beside_e + beside, before_m + before, before_e + before,
                label.to(tl.int64), i, j, n, s, p, width, seed, (node + 1) * numbers, B, C
            )  # fmt: skip
            push(queue + 3 * end, i, split, left)
            push(queue + 3 * end + 3, split, j, right)
            end += 2
        barrier()
