"""Samples of trees of a low-rank grammar in Triton, from the root down: a rank, a split point, and two labels.

One program draws one tree, by the largest log-weight plus Gumbel noise (Gumbel 1954).
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import gumbel
from strukt.structures.pcfg.gpu_cky import first_best, push


@triton.jit
def log_or_none(weights):
    """Return the logs of weights; -inf for 0."""
    return tl.where(weights > 0.0, tl.log(tl.where(weights > 0.0, weights, 1.0)), float("-inf"))


@triton.jit
def drawn(weights, values, count, seed, place, C: tl.constexpr):
    """Draw an index in proportion to the product of ``weights (count,)`` and ``values (count,)``.

    Random numbers are those of ``seed`` from ``place`` on.
    """
    top, chosen = tl.full([], float("-inf"), tl.float64), tl.full([], 0, tl.int32)
    for start in range(0, count, C):
        k = start + tl.arange(0, C)
        each = log_or_none(tl.load(weights + k, k < count, 0.0)) + log_or_none(tl.load(values + k, k < count, 0.0))
        top, chosen = first_best(top, chosen, each + gumbel(seed, place + k), start)
    return chosen


@triton.jit
def drawn_split(cells, i, j, rank, n, r, seed, place, C: tl.constexpr):
    """Draw the width of the left child of a span under a rank, from the cells of a `gpu_chart.Chart`."""
    step, width = 3 * r + 3, j - i
    lefts, rights = cells + i.to(tl.int64) * n * step, cells + ((j - 1).to(tl.int64) * n + n - width) * step
    top, chosen = tl.full([], float("-inf"), tl.float64), tl.full([], 0, tl.int32)
    for start in range(1, width, C):
        part = start + tl.arange(0, C)
        left, right, on = lefts + (part - 1) * step, rights + part * step, part < width
        each = log_or_none(tl.load(left + rank, on, 0.0)) + log_or_none(tl.load(right + r + rank, on, 0.0))
        each += tl.load(left + 3 * r, on, 0.0) + tl.load(right + 3 * r + 1, on, 0.0)
        top, chosen = first_best(top, chosen, each + gumbel(seed, place + part), start)
    return chosen


@triton.jit
def drawn_child(labels, words, symbols, i, width, n, s, p, seed, place, C: tl.constexpr):
    """Draw the label of a child, by its values and the weights of labels under a rank, ``symbols (s + p,)``."""
    word = width == 1
    values = tl.where(word, words + i * p, labels + (i * n + width - 1) * s)
    first = tl.where(word, s, 0)
    return first + drawn(symbols + first, values, tl.where(word, p, s), seed, place, C)


@triton.jit(do_not_specialize=["count", "n"])
def walk(
    cells, labels, words, root, head, symbols, sharing, lengths, seeds, queue, events, count, n, s, p, r,
    C: tl.constexpr,
):  # fmt: skip
    """Draw trees and write the labels of their spans; the grid of programs is (items x count).

    Args:
        cells: ``(batch, 1 + n n (3 r + 3))``, the memory of a `gpu_chart.Chart`.
        labels: ``(batch, n, n, s)``, the values of labels of spans, by first fencepost and width less 1.
        words: ``(batch, n, p)``, the weights of words.
        root, head, symbols, sharing: Those of `weights.Weights`, and the number of items with one grammar.
        lengths: ``(batch,)``, 0 for items without trees.
        seeds: ``(batch, count)``.
        queue: Workspace ``(batch, count, 2 n, 3)``: the fenceposts of spans, and their labels.
        events: ``(batch, count, n + 1, n + 1)``, all -1.
        count, n, s, p, r: The numbers of samples, words, nonterminals, preterminals and ranks.
        C: The number of weights that are drawn from at a time.
    """
    draw, size = tl.program_id(0).to(tl.int64), n + 1
    item = draw // count
    group = item // sharing
    length, seed = tl.load(lengths + item).to(tl.int32), tl.load(seeds + draw)
    cells += item * (1 + n * n * (3 * r + 3)) + 1
    labels += item * n * n * s
    words += item * n * p
    root += group * s
    head += group * s * r
    symbols += group * 2 * r * (s + p)
    queue += draw * 6 * n
    events += draw * size * size
    numbers = seed * 0 + r + n + 2 * (s + p)  # of each span
    label = drawn(root, labels + (tl.maximum(length, 1) - 1) * s, s, seed, seed * 0, C)
    push(queue, 0, length, label)
    barrier()
    end = 1
    for node in range(tl.where(length > 1, 2 * length - 1, 0)):
        i, j, label = tl.load(queue + 3 * node), tl.load(queue + 3 * node + 1), tl.load(queue + 3 * node + 2)
        tl.store(events + i * size + j, label.to(tl.int64))
        if j - i > 1:
            place = s + node * numbers
            sums = cells + ((i * n + j - i - 1).to(tl.int64) * (3 * r + 3) + 2 * r)
            rank = drawn(head + label * r, sums, r, seed, place, C)
            part = drawn_split(cells, i, j, rank, n, r, seed, place + r, C)
            place += r + n
            of_left, of_right = symbols + rank * (s + p), symbols + (r + rank) * (s + p)
            left = drawn_child(labels, words, of_left, i, part, n, s, p, seed, place, C)
            place += s + p
            right = drawn_child(labels, words, of_right, i + part, j - i - part, n, s, p, seed, place, C)
            push(queue + 3 * end, i, i + part, left)
            push(queue + 3 * end + 3, i + part, j, right)
            end += 2
        barrier()
