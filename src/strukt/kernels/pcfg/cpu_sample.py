"""Samples of trees of a grammar, from the top downwards, from the chart of the inside pass."""

from __future__ import annotations

import numpy as np

from strukt.kernels.jit import kernel
from strukt.kernels.pcfg.cpu_inside import load, make_room, weigh_splits
from strukt.kernels.pcfg.cpu_products import Array
from strukt.kernels.pcfg.cpu_weights import Grammar


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
        for k in range(uniform.shape[1]):
            for label in range(s):
                weights[label] = grammar.root[b * len(grammar.root) // batch, label] * chart[b, 0, n, label]
            top = _draw(weights[:s], uniform[b, k, 0])
            rules = grammar.rules[b * len(grammar.rules) // batch]
            drawn = uniform[b, k, 1:]
            _trace(rules, n, top, chart[b], room.words, room.shares[0], weights, drawn, labels[b, k])


@kernel
def _trace(
    rules: Array, n: int, top: int, chart: Array, words: Array, shares: Array, weights: Array,
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
            part, left, right = _children(
                rules[label], i, width, chart, words, shares, weights, uniform[drawn : drawn + 3]
            )
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, part, left
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = i + part, width - part, right
            depth, drawn = depth + 2, drawn + 3


@kernel
def _children(
    rules: Array,
    i: int,
    width: int,
    chart: Array,
    words: Array,
    shares: Array,
    weights: Array,
    uniform: Array,
) -> tuple[int, int, int]:
    """The width of the left child and the labels of both: first the width, then the left label, then the right."""
    s, p = chart.shape[2] - 2, words.shape[1]
    weigh_splits(chart, i, width, shares)
    for part in range(1, width):
        first, after = _labels(part, s, p)
        _weigh_left(rules, i, width, part, chart, words, weights[width:])
        weights[part] = shares[part] * weights[width + first : width + after].sum()
    part = 1 + _draw(weights[1:width], uniform[0])
    first, after = _labels(part, s, p)
    _weigh_left(rules, i, width, part, chart, words, weights)
    left = first + _draw(weights[first:after], uniform[1])
    first, after = _labels(width - part, s, p)
    below = words[i + part] if width - part == 1 else chart[i + part, width - part]
    for right in range(first, after):
        weights[right] = rules[left, right] * below[right - first]
    return part, left, first + _draw(weights[first:after], uniform[2])


@kernel
def _weigh_left(
    rules: Array, i: int, width: int, part: int, chart: Array, words: Array, weights: Array
) -> None:
    """The weight of each label of a left child of a given width, summed over right ones."""
    s, p = chart.shape[2] - 2, words.shape[1]
    above = words[i] if part == 1 else chart[i, part]
    below = words[i + part] if width - part == 1 else chart[i + part, width - part]
    first, after = _labels(part, s, p)
    start, end = _labels(width - part, s, p)
    for left in range(first, after):
        total = 0.0
        if above[left - first] > 0.0:
            for k in range(end - start):
                total += rules[left, start + k] * below[k]
        weights[left] = above[left - first] * total


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
