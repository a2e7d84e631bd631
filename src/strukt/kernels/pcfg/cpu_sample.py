"""Samples of trees of a grammar, from the top downwards, from the chart of the inside pass.

What takes longest is to weigh the places to split a span with a label. Samples meet the same spans again and
again, so that the weights are kept from the first time on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.jit import kernel
from strukt.kernels.pcfg.cpu_inside import load, make_room, weigh_splits
from strukt.kernels.pcfg.cpu_products import BLOCK, Array
from strukt.kernels.pcfg.cpu_weights import Grammar

MOST_KEPT = 1 << 22
"""How many weights are kept at most."""


class Kept(NamedTuple):
    """Weights of the places to split spans with labels, summed from the first one on.

    Attributes:
        rows: ``(n, n + 1, s)``, where to find those of a span and a label; 0 if they are not kept.
        sums: ``(rows + 1, n)``, by the width of the left child; the first row is for those that are not kept.
        count: ``(1,)``, how many rows are in use.
    """

    rows: Array
    sums: Array
    count: Array


@kernel
def _keep(n: int, s: int, samples: int) -> Kept:
    count = min(samples * n, n * n * s // 2, MOST_KEPT // n)
    return Kept(np.zeros((n, n + 1, s), np.int32), np.empty((1 + count, n)), np.zeros(1, np.int64))


@kernel
def sample(
    grammar: Grammar, spans: Array, emission: Array, lengths: Array, chart: Array, feasible: Array,
    uniform: Array, labels: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Trees from random numbers ``(batch, count, 3 n)``, for items that have one; O(n^2 s^2) each at most."""
    batch, n, s = len(chart), chart.shape[1], grammar.root.shape[1]
    room = make_room(n, s, emission.shape[2])
    weights = np.empty(n + s + emission.shape[2])
    for b in range(start, batch, step):
        n = lengths[b]
        if n == 0 or not feasible[b]:
            continue
        load(grammar, spans, emission, b, n, chart[b], room)
        kept = _keep(n, s, uniform.shape[1])
        for k in range(uniform.shape[1]):
            for label in range(s):
                weights[label] = grammar.root[b * len(grammar.root) // batch, label] * chart[b, 0, n, label]
            top = _draw(weights[:s], uniform[b, k, 0])
            rules = grammar.rules[b * len(grammar.rules) // batch]
            drawn = uniform[b, k, 1:]
            _trace(rules, n, top, chart[b], room.words, room.shares[0], kept, weights, drawn, labels[b, k])


@kernel
def _trace(
    rules: Array, n: int, top: int, chart: Array, words: Array, shares: Array, kept: Kept, weights: Array,
    uniform: Array, labels: Array,
) -> None:  # fmt: skip
    """One tree, given the label of the whole sentence."""
    stack = np.empty((n, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, top
    depth, drawn = 1, 0
    while depth > 0:
        depth -= 1
        i, width, label = stack[depth]
        labels[i, i + width] = label
        if width > 1:
            sums = _split_sums(rules, i, width, label, chart, words, shares, kept, weights)
            part = 1 + _find(sums[1:width], uniform[drawn])
            left, right = _children(
                rules[label], i, width, part, chart, words, weights, uniform[drawn + 1 : drawn + 3]
            )
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, part, left
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = i + part, width - part, right
            depth, drawn = depth + 2, drawn + 3


@kernel
def _split_sums(
    rules: Array, i: int, width: int, label: int, chart: Array, words: Array, shares: Array, kept: Kept,
    weights: Array,
) -> Array:  # fmt: skip
    """Weights of the widths of the left child, each with those before it."""
    row = kept.rows[i, width, label]
    if row > 0:
        return kept.sums[row]  # type: ignore[no-any-return]
    if kept.count[0] + 1 < len(kept.sums):
        kept.count[0] += 1
        row = kept.rows[i, width, label] = kept.count[0]
    sums = kept.sums[row]
    weigh_splits(chart, i, width, shares)
    total = 0.0
    for part in range(1, width):
        first, after = _labels(width - part, chart.shape[2] - 2, words.shape[1])
        _weigh_right(rules[label], i, width, part, chart, words, weights)
        total += shares[part] * weights[first:after].sum()
        sums[part] = total
    return sums  # type: ignore[no-any-return]


@kernel
def _children(
    rules: Array, i: int, width: int, part: int, chart: Array, words: Array, weights: Array, uniform: Array
) -> tuple[int, int]:
    """The labels of both children, first the right one, given the width of the left child."""
    s, p = chart.shape[2] - 2, words.shape[1]
    _weigh_right(rules, i, width, part, chart, words, weights)
    first, after = _labels(width - part, s, p)
    right = first + _draw(weights[first:after], uniform[0])
    first, after = _labels(part, s, p)
    above = words[i] if part == 1 else chart[i, part]
    for left in range(first, after):
        weights[left] = rules[left, right] * above[left - first]
    return first + _draw(weights[first:after], uniform[1]), right


@kernel
def _weigh_right(
    rules: Array, i: int, width: int, part: int, chart: Array, words: Array, weights: Array
) -> None:
    """The weight of each label of the right child, summed over left ones, given the width of the left child."""
    s, p = chart.shape[2] - 2, words.shape[1]
    above = words[i] if part == 1 else chart[i, part]
    below = words[i + part] if width - part == 1 else chart[i + part, width - part]
    first, after = _labels(part, s, p)
    start, end = _labels(width - part, s, p)
    whole = after - (after - first) % BLOCK
    weights[start:end] = 0.0
    for left in range(first, whole, BLOCK):
        a, b = above[left - first], above[left + 1 - first]
        c, d = above[left + 2 - first], above[left + 3 - first]
        for k in range(start, end):
            weights[k] += (a * rules[left, k] + b * rules[left + 1, k]) + (
                c * rules[left + 2, k] + d * rules[left + 3, k]
            )
    for left in range(whole, after):
        for k in range(start, end):
            weights[k] += above[left - first] * rules[left, k]
    for k in range(start, end):
        weights[k] *= below[k - start]


@kernel
def _labels(width: int, s: int, p: int) -> tuple[int, int]:
    """The first label that a span of a width may have, and the one after the last."""
    return (s, s + p) if width == 1 else (0, s)


@kernel
def _draw(weights: Array, uniform: float) -> int:
    """An index drawn in proportion to its weight; never one of weight zero."""
    chosen, remaining = 0, uniform * weights.sum()
    for k in range(len(weights)):
        if weights[k] > 0.0:
            chosen = k
            if remaining < weights[k]:
                break
            remaining -= weights[k]
    return chosen


@kernel
def _find(sums: Array, uniform: float) -> int:
    """The same for weights that are summed up; the first sum above a part of the last one."""
    low, high = 0, len(sums) - 1
    wanted = uniform * sums[high]
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low
