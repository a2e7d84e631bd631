"""The outside pass of a grammar in probability space, one sentence at a time.

The outside value of a span is the derivative of the log-partition with respect to its inside value, so their
product is a probability. Labels with inside value zero are skipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.pcfg.cpu_inside import (
    Workspace,
    add_pairs,
    load,
    make_workspace,
    multiply_words,
    weigh_labels,
    weigh_splits,
)
from strukt.structures.pcfg.cpu_products import BLOCK, outer, product, pull
from strukt.structures.pcfg.cpu_weights import Grammar


class Expected(NamedTuple):
    """Derivatives with respect to the weights of rules, times the weight of each item, summed over items.

    They have the shapes of the matrices of a `Grammar`, after a first axis of slots: one for each thread, or a
    single one if no two items share a grammar.
    """

    pairs: Array
    words: Array
    beside: Array
    before: Array


class Outside(NamedTuple):
    """Workspace for one sentence: derivatives of the log-partition with respect to values of the inside pass.

    Attributes:
        spans: ``(n, n + 1, s)``, with respect to the values of labelled spans, by first fencepost and width; in
            the end multiplied by these values, which makes them probabilities.
        words: ``(n, p)``, with respect to the values of words.
        beside: ``(n, s s)``, with respect to the sums over rules A -> B word.
        before: ``(n, s s)``, with respect to the sums over rules A -> word C.
        slopes: ``(BLOCK, s)``, with respect to the sums over rules and children of some spans.
        weighted: ``slopes`` times the weight of the item.
        pairs: ``(BLOCK, s s)``, with respect to the sums over their split points.
        two: ``(BLOCK, p p)``, with respect to the products of two words.
        left: ``(n, s)``, with respect to the weighted left child for each split point.
        right: ``(n, s)``, with respect to the right child for each split point.
    """

    spans: Array
    words: Array
    beside: Array
    before: Array
    slopes: Array
    weighted: Array
    pairs: Array
    two: Array
    left: Array
    right: Array


@inner
def make_outside(n: int, s: int, p: int) -> Outside:
    """Allocate an uninitialised workspace."""
    return Outside(
        np.empty((n, n + 1, s)),
        np.empty((n, p)),
        np.empty((n, s * s)),
        np.empty((n, s * s)),
        np.empty((BLOCK, s)),
        np.empty((BLOCK, s)),
        np.empty((BLOCK, s * s)),
        np.empty((BLOCK, p * p)),
        np.empty((n, s)),
        np.empty((n, s)),
    )


@kernel
def outside(
    grammar: Grammar, spans: Array, emission: Array, lengths: Array, weights: Array, chart: Array,
    expected: Expected, marginals: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Add derivatives to ``expected``, and write marginals of labelled spans, times the weight of each item.

    Arrays: ``spans`` and ``marginals (batch, n + 1, n + 1, s + p)``, ``emission (g, n, p)``, ``lengths`` and
    ``weights (batch,)``, and ``chart (batch, n, n + 1, s + 2)``. Marginals are 0 before.
    """
    batch, n, s = len(chart), chart.shape[1], grammar.root.shape[1]
    workspace, around = make_workspace(n, s, emission.shape[2]), make_outside(n, s, emission.shape[2])
    slot = start % len(expected.pairs)
    for b in range(start, batch, step):
        n = lengths[b]
        if open_sentence(grammar, b, batch, n, chart[b], around) == 0.0:
            continue
        load(grammar, spans, emission, b, n, chart[b], workspace)
        for width in range(n, 1, -1):
            for first in range(0, n + 1 - width, BLOCK):
                count = min(BLOCK, n + 1 - width - first)
                for j in range(count):
                    _slopes(spans, b, chart[b], first + j, width, weights[b], workspace, around, j)
                _to_children(grammar, b, batch, chart[b], first, count, width, workspace, around, expected, slot)
        _to_words(grammar, b, batch, n, weights[b], workspace, around, expected, slot)
        _store(b, n, weights[b], workspace, around, marginals)


@inner
def open_sentence(grammar: Grammar, b: int, batch: int, n: int, chart: Array, around: Outside) -> float:
    """Write the outside values of the whole sentence; return the weight of all its trees, 0 if there is none."""
    group, s = b * len(grammar.root) // batch, grammar.root.shape[1]
    total = 0.0
    if n > 1:
        for label in range(s):
            total += grammar.root[group, label] * chart[0, n, label]
    if total > 0.0:
        clear(around, n)
        for label in range(s):
            around.spans[0, n, label] = grammar.root[group, label] / total
    return total


@inner
def clear(around: Outside, n: int) -> None:
    """Write zeros to the derivatives that the pass over a sentence of n words accumulates."""
    around.spans[:n] = 0.0
    around.words[:n] = 0.0
    around.beside[:n] = 0.0
    around.before[:n] = 0.0


@inner
def _slopes(
    spans: Array, b: int, chart: Array, i: int, width: int, weight: float, workspace: Workspace, around: Outside,
    j: int,
) -> None:  # fmt: skip
    """Write derivatives with respect to the sums over a span's rules and children to row j of ``around.slopes``.

    The span's outside values become probabilities.
    """
    s = workspace.sums.shape[1]
    weigh_labels(spans, b, i, width, workspace)
    weigh_splits(chart, i, width, workspace.shares[j])
    for label in range(s):
        value = chart[i, width, label]
        slope = 0.0
        if value > 0.0:
            slope = around.spans[i, width, label] * workspace.label_weights[label] / chart[i, width, s + 1]
        around.slopes[j, label] = slope
        around.weighted[j, label] = weight * slope
        around.spans[i, width, label] *= value


@inner
def _to_children(
    grammar: Grammar, b: int, batch: int, chart: Array, first: int, count: int, width: int,
    workspace: Workspace, around: Outside, expected: Expected, slot: int,
) -> None:  # fmt: skip
    """Propagate derivatives from spans of a width to their children, and to the rules between them."""
    g = b * len(grammar.rules) // batch
    slopes, weighted = around.slopes[:count], around.weighted[:count]
    if width == 2:
        multiply_words(first, count, workspace)
        outer(weighted, workspace.two[:count], expected.words[slot, g])
        around.two[:] = 0.0
        pull(grammar.words[g], slopes, around.two)
        for j in range(count):
            _to_two_words(first + j, workspace, around, j)
        return
    for j in range(count):
        _to_sides(chart, first + j, width, workspace, around, j)
    if width > 3:
        around.pairs[:] = 0.0
        pull(grammar.pairs[g], slopes, around.pairs)
        for j in range(count):
            add_pairs(chart, first + j, width, workspace, j)
            _to_pairs(first + j, width, workspace, around, j)
        outer(weighted, workspace.pairs[:count], expected.pairs[slot, g])


@inner
def _to_two_words(i: int, workspace: Workspace, around: Outside, j: int) -> None:
    """Propagate derivatives from row j of ``around.two`` to words i and i + 1."""
    p = workspace.words.shape[1]
    for b in range(p):
        total = 0.0
        for c in range(p):
            slope = around.two[j, b * p + c]
            total += slope * workspace.words[i + 1, c]
            around.words[i + 1, c] += slope * workspace.words[i, b]
        around.words[i, b] += total


@inner
def _to_sides(chart: Array, i: int, width: int, workspace: Workspace, around: Outside, j: int) -> None:
    """Propagate derivatives from a span to its splits into a word and a wider child.

    They pass to the wider child, and to the rules summed with the word.
    """
    s = workspace.sums.shape[1]
    last, narrow = i + width - 1, width - 1
    for parent in range(s):
        row = parent * s
        before = workspace.shares[j, 1] * around.slopes[j, parent]
        for k in range(s):
            around.spans[i + 1, narrow, k] += before * workspace.before[i, row + k]
        for k in range(s):
            around.before[i, row + k] += before * chart[i + 1, narrow, k]
        beside = workspace.shares[j, narrow] * around.slopes[j, parent]
        for k in range(s):
            around.spans[i, narrow, k] += beside * workspace.beside[last, row + k]
        for k in range(s):
            around.beside[last, row + k] += beside * chart[i, narrow, k]


@inner
def _to_pairs(i: int, width: int, workspace: Workspace, around: Outside, j: int) -> None:
    """Propagate derivatives from the pairs of children of a span to both children."""
    s, count = workspace.sums.shape[1], width - 3
    slopes = around.pairs[j].reshape(s, s)
    around.right[:count] = 0.0
    pull(slopes, workspace.left[:count], around.right)
    product(slopes, workspace.right[:count], around.left)
    for k in range(2, width - 1):
        for label in range(s):
            around.spans[i, k, label] += workspace.shares[j, k] * around.left[k - 2, label]
            around.spans[i + k, width - k, label] += around.right[k - 2, label]


@inner
def _to_words(
    grammar: Grammar, b: int, batch: int, n: int, weight: float,
    workspace: Workspace, around: Outside, expected: Expected, slot: int,
) -> None:  # fmt: skip
    """Propagate derivatives from the sums over rules with words to these rules and to the words.

    The values of words are multiplied by the item's weight, also for `_store`.
    """
    g = b * len(grammar.rules) // batch
    pull(grammar.beside[g], around.beside[:n], around.words)
    pull(grammar.before[g], around.before[:n], around.words)
    for i in range(n):
        for c in range(workspace.words.shape[1]):
            workspace.words[i, c] *= weight
    outer(around.beside[:n], workspace.words[:n], expected.beside[slot, g])
    outer(around.before[:n], workspace.words[:n], expected.before[slot, g])


@inner
def _store(b: int, n: int, weight: float, workspace: Workspace, around: Outside, marginals: Array) -> None:
    """Write the marginals of item b, times its weight; words were multiplied by it before."""
    s = workspace.sums.shape[1]
    for i in range(n):
        for c in range(workspace.words.shape[1]):
            marginals[b, i, i + 1, s + c] = workspace.words[i, c] * around.words[i, c]
        for width in range(2, n - i + 1):
            for label in range(s):
                marginals[b, i, i + width, label] = weight * around.spans[i, width, label]
