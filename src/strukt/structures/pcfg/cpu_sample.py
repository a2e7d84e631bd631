"""Samples of trees of a grammar, drawn from the root downwards, from the inside chart.

Computing the weights of the split points of a labelled span takes most of the time. Samples share many spans, so
these weights are cached.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_sample import Kept, find, make_kept, row_of, uniform
from strukt.kernels.jit import inner, kernel
from strukt.structures.pcfg.cpu_inside import load, make_workspace, weigh_splits
from strukt.structures.pcfg.cpu_products import BLOCK
from strukt.structures.pcfg.cpu_weights import Grammar


@kernel
def sample(
    grammar: Grammar, spans: Array, emission: Array, lengths: Array, chart: Array, feasible: Array,
    seeds: Array, labels: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Draw a tree for each of ``seeds (batch, count)`` of ``feasible`` items.

    A tree takes at most O(n^2 s^2 + n p (s + p)). The other arrays are ``spans (batch, n + 1, n + 1, s + p)``,
    ``emission (g, n, p)``, ``lengths`` and ``feasible (batch,)``, ``chart (batch, n, n + 1, s + 2)``, and the
    result ``labels (batch, count, n + 1, n + 1)``, all -1 before.
    """
    batch, n, s = len(chart), chart.shape[1], grammar.root.shape[1]
    workspace = make_workspace(n, s, emission.shape[2])
    weights, state = np.empty(s + emission.shape[2]), np.empty(1, np.uint64)
    for b in range(start, batch, step):
        n = lengths[b]
        if n == 0 or not feasible[b]:
            continue
        load(grammar, spans, emission, b, n, chart[b], workspace)
        kept = make_kept(n * chart.shape[2] * s, n * seeds.shape[1], n)
        for k in range(seeds.shape[1]):
            state[0] = seeds[b, k]
            for label in range(s):
                weights[label] = grammar.root[b * len(grammar.root) // batch, label] * chart[b, 0, n, label]
            top = _draw(weights[:s], uniform(state))
            rules = grammar.rules[b * len(grammar.rules) // batch]
            _trace(
                rules, n, top, chart[b], workspace.words, workspace.shares[0], kept, weights, state, labels[b, k]
            )


@inner
def _trace(
    rules: Array, n: int, top: int, chart: Array, words: Array, shares: Array, kept: Kept, weights: Array,
    state: Array, labels: Array,
) -> None:  # fmt: skip
    """Draw one tree, given the label ``top`` of the whole sentence; write the labels of its spans.

    ``shares (n + 1,)`` and ``weights (s + p,)`` are workspace.
    """
    stack = np.empty((n, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, top
    depth = 1
    while depth > 0:
        depth -= 1
        i, width, label = stack[depth]
        labels[i, i + width] = label
        if width > 1:
            sums = _split_sums(rules, i, width, label, chart, words, shares, kept, weights)
            part = 1 + find(sums, 0, width - 1, uniform(state))
            left, right = _children(rules[label], i, width, part, chart, words, weights, state)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, part, left
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = i + part, width - part, right
            depth += 2


@inner
def _split_sums(
    rules: Array, i: int, width: int, label: int, chart: Array, words: Array, shares: Array, kept: Kept,
    weights: Array,
) -> Array:  # fmt: skip
    """Return the cumulative weights of the widths of the left child of a labelled span; cache them."""
    row, known = row_of(kept, (i * chart.shape[1] + width) * (chart.shape[2] - 2) + label)
    sums = kept.sums[row]
    if known:
        return sums  # type: ignore[no-any-return]
    weigh_splits(chart, i, width, shares)
    total = 0.0
    for part in range(1, width):
        first, after = _labels(width - part, chart.shape[2] - 2, words.shape[1])
        _weigh_right(rules[label], i, width, part, chart, words, weights)
        total += shares[part] * weights[first:after].sum()
        sums[part - 1] = total
    return sums  # type: ignore[no-any-return]


@inner
def _children(
    rules: Array, i: int, width: int, part: int, chart: Array, words: Array, weights: Array, state: Array
) -> tuple[int, int]:
    """Draw the labels of both children, given the width of the left child; return the left and the right label."""
    s, p = chart.shape[2] - 2, words.shape[1]
    _weigh_right(rules, i, width, part, chart, words, weights)
    first, after = _labels(width - part, s, p)
    right = first + _draw(weights[first:after], uniform(state))
    first, after = _labels(part, s, p)
    above = words[i] if part == 1 else chart[i, part]
    for left in range(first, after):
        weights[left] = rules[left, right] * above[left - first]
    return first + _draw(weights[first:after], uniform(state)), right


@inner
def _weigh_right(
    rules: Array, i: int, width: int, part: int, chart: Array, words: Array, weights: Array
) -> None:
    """Write to ``weights (s + p,)`` the weight of each label of the right child.

    It is summed over the labels of the left child, which has ``part`` words.
    """
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


@inner
def _labels(width: int, s: int, p: int) -> tuple[int, int]:
    """Return the range of possible labels of a span of a width: the first, and one more than the last."""
    return (s, s + p) if width == 1 else (0, s)


@inner
def _draw(weights: Array, number: float) -> int:
    """Draw an index in proportion to its weight; never one of weight zero."""
    chosen, remaining = 0, number * weights.sum()
    for k in range(len(weights)):
        if weights[k] > 0.0:
            chosen = k
            if remaining < weights[k]:
                break
            remaining -= weights[k]
    return chosen
