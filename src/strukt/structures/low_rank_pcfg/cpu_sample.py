"""Samples of trees of a low-rank grammar, drawn from the root down: a rank, a split point, and two labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_sample import find, uniform
from strukt.kernels.jit import inner, kernel
from strukt.structures.low_rank_pcfg.cpu_splits import row_of, weigh_splits


class Sentence(NamedTuple):
    """The tables from which the samples of one sentence are drawn.

    Attributes:
        chart: ``(n (n + 1) / 2, 3 r + 2)``, the chart of the inside pass; see `cpu_splits`.
        labels: ``(n (n - 1) / 2, s)``, the inside values of the labels of spans of two or more words.
        words: ``(n, p)``, the values of the preterminals of each word.
        root: ``(s,)``, the weights of roots.
        head: ``(s, r)``, the weights of ranks.
        symbols: ``(2 r, s + p)``, the weights of the left and then the right children of ranks.
    """

    chart: Array
    labels: Array
    words: Array
    root: Array
    head: Array
    symbols: Array


@kernel
def sample(sentence: Sentence, length: int, seeds: Array, trees: Array, start: int, step: int) -> None:
    """Write the labels of the spans of a tree for each of ``seeds (count,)``, in O(n (n + r + s + p)) each.

    The result is ``trees (count, n + 1, n + 1)``, all -1 before.
    """
    n, s = len(sentence.words), len(sentence.root)
    stack = np.empty((n, 3), np.int64)
    sums = np.empty(max(n + 1, max(sentence.head.shape[1], sentence.symbols.shape[1])))
    shares, state = np.empty(n + 1), np.empty(1, np.uint64)
    for k in range(start, len(seeds), step):
        state[0] = seeds[k]
        top = sentence.labels[row_of(n, length, 0) - n]
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, length, _draw(sentence.root, top, sums, state)
        depth = 1
        while depth > 0:
            depth -= 1
            i, width, label = stack[depth]
            trees[k, i, i + width] = label
            if width > 1:
                rank, part = _split(sentence, n, i, width, label, shares, sums, state)
                ranks = sentence.head.shape[1]
                left = _child(sentence, n, s, i, part, rank, sums, state)
                right = _child(sentence, n, s, i + part, width - part, ranks + rank, sums, state)
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, part, left
                stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = i + part, width - part, right
                depth += 2


@inner
def _split(
    sentence: Sentence, n: int, i: int, width: int, label: int, shares: Array, sums: Array, state: Array
) -> tuple[int, int]:
    """Draw a rank under the label of a span, and the width of the left child.

    ``shares (n + 1,)`` and ``sums`` are workspace.
    """
    chart, ranks = sentence.chart, sentence.head.shape[1]
    rank = _draw(sentence.head[label], chart[row_of(n, width, i), 2 * ranks : 3 * ranks], sums, state)
    weigh_splits(chart, n, i, width, shares)
    total = 0.0
    for part in range(1, width):
        left, right = row_of(n, part, i), row_of(n, width - part, i + part)
        total += shares[part] * chart[left, rank] * chart[right, ranks + rank]
        sums[part - 1] = total
    return rank, 1 + find(sums, 0, width - 1, uniform(state))


@inner
def _child(
    sentence: Sentence, n: int, s: int, i: int, width: int, row: int, sums: Array, state: Array
) -> int:
    """Draw the label of a span as a child of a rank.

    ``row`` is the row of ``symbols``: the rank for a left child, the rank plus r for a right child.
    """
    if width == 1:
        return s + _draw(sentence.symbols[row, s:], sentence.words[i], sums, state)
    return _draw(sentence.symbols[row, :s], sentence.labels[row_of(n, width, i) - n], sums, state)


@inner
def _draw(weights: Array, values: Array, sums: Array, state: Array) -> int:
    """Draw an index k with probability proportional to ``weights[k] * values[k]``; ``sums`` is workspace."""
    total = 0.0
    for k in range(len(values)):
        total += weights[k] * values[k]
        sums[k] = total
    return find(sums, 0, len(values), uniform(state))
