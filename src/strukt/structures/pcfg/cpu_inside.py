"""The inside pass of a grammar in probability space, one sentence at a time.

The inside values of each span are divided by their maximum, and the log of all divisors is stored with them. A
chart ``(n, n + 1, s + 2)`` holds, for each first fencepost and width, the values of the span's labels, the log,
and the last divisor. For words, whose values are stored elsewhere, it holds only the log.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel
from strukt.structures.pcfg.cpu_products import BLOCK, outer, product
from strukt.structures.pcfg.cpu_weights import SMALL, SMALLER, Grammar, exponentials, top_of


class Workspace(NamedTuple):
    """Workspace for one sentence.

    Attributes:
        words: ``(n, p)``, the value of each word with each preterminal.
        beside: ``(n, s s)``, for each word the sum over the rules A -> B word, ``[(A, B)]``.
        before: ``(n, s s)``, for each word the sum over the rules A -> word C, ``[(A, C)]``.
        label_weights: ``(s + p,)``, the weight of a span's own score with each label.
        left: ``(n, s)``, the values of the left child for each split point of a span.
        right: ``(n, s)``, the values of the right child for each split point.
        pairs: ``(BLOCK, s s)``, the sums over split points for each pair of labels, for some spans of one width.
        two: ``(BLOCK, p p)``, the products of the values of two words.
        sums: ``(BLOCK, s)``, the sums over the rules and children of each label.
        shares: ``(BLOCK, n + 1)``, the weight of each split point; entry 0 is the log of their scale.
    """

    words: Array
    beside: Array
    before: Array
    label_weights: Array
    left: Array
    right: Array
    pairs: Array
    two: Array
    sums: Array
    shares: Array


@inner
def make_workspace(n: int, s: int, p: int) -> Workspace:
    """Allocate an uninitialised workspace."""
    return Workspace(
        np.empty((n, p)),
        np.empty((n, s * s)),
        np.empty((n, s * s)),
        np.empty(s + p),
        np.empty((n, s)),
        np.empty((n, s)),
        np.empty((BLOCK, s * s)),
        np.empty((BLOCK, p * p)),
        np.empty((BLOCK, s)),
        np.empty((BLOCK, n + 1)),
    )


@kernel
def inside(
    grammar: Grammar, spans: Array, emission: Array, lengths: Array,
    chart: Array, log_partition: Array, underflowed: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write charts and log-partitions; set ``underflowed (batch,)`` for items in which a value underflows.

    The other arrays are ``spans (batch, n + 1, n + 1, s + p)``, ``emission (g, n, p)``, ``lengths`` and
    ``log_partition (batch,)``, and ``chart (batch, n, n + 1, s + 2)``.
    """
    batch, n, s = len(chart), chart.shape[1], grammar.root.shape[1]
    workspace = make_workspace(n, s, emission.shape[2])
    for b in range(start, batch, step):
        if lengths[b] == 0:
            continue
        underflowed[b] |= load(grammar, spans, emission, b, lengths[b], chart[b], workspace)
        underflowed[b] |= _fill(grammar, spans, b, lengths[b], chart[b], workspace)
        log_partition[b] = total(grammar, b, batch, lengths[b], chart[b])


@inner
def load(
    grammar: Grammar, spans: Array, emission: Array, b: int, n: int, chart: Array, workspace: Workspace
) -> bool:
    """Write the values of words, and the rules summed with each word, to ``workspace``, and logs to the chart.

    Return True if a value is too small.
    """
    batch, s = len(spans), grammar.root.shape[1]
    group, g = b * len(emission) // batch, b * len(grammar.rules) // batch
    scores = workspace.label_weights[s:]
    underflowed = False
    for i in range(n):
        for c in range(len(scores)):
            scores[c] = np.float64(spans[b, i, i + 1, s + c]) + emission[group, i, c]
        top = top_of(scores)
        underflowed |= exponentials(scores, top, SMALL, workspace.words[i])
        chart[i, 1, :s] = 0.0
        chart[i, 1, s] = top
    product(grammar.beside[g], workspace.words[:n], workspace.beside)
    product(grammar.before[g], workspace.words[:n], workspace.before)
    return underflowed


@inner
def total(grammar: Grammar, b: int, batch: int, n: int, chart: Array) -> float:
    """Return the log-partition of item b from its chart."""
    group, s = b * len(grammar.root) // batch, grammar.root.shape[1]
    value = 0.0
    for label in range(s):
        value += grammar.root[group, label] * chart[0, n, label]
    return grammar.root_tops[group] + chart[0, n, s] + np.log(value) if value > 0.0 else -np.inf


@inner
def _fill(grammar: Grammar, spans: Array, b: int, n: int, chart: Array, workspace: Workspace) -> bool:
    """Write the values of all spans to the chart, from narrow to wide; return True if a value is too small."""
    g = b * len(grammar.rules) // len(spans)
    underflowed = False
    for width in range(2, n + 1):
        for first in range(0, n + 1 - width, BLOCK):
            count = min(BLOCK, n + 1 - width - first)
            for j in range(count):
                underflowed |= weigh_splits(chart, first + j, width, workspace.shares[j])
            sum_children(grammar, g, chart, first, count, width, workspace)
            for j in range(count):
                underflowed |= _close(grammar, g, spans, b, chart, first + j, width, workspace, j)
    return underflowed


@inner
def weigh_splits(chart: Array, i: int, width: int, shares: Array) -> bool:
    """Write the weights of the split points of a span to ``shares (n + 1,)``, by the width of the left child.

    They are relative to the largest, whose log is written to entry 0. Return True if a weight is too small.
    """
    s = chart.shape[2] - 2
    top = -np.inf
    for k in range(1, width):
        shares[k] = chart[i, k, s] + chart[i + k, width - k, s]
        top = max(top, shares[k])
    shift = top if top > -np.inf else 0.0
    underflowed = 0
    for k in range(1, width):
        share = exp(shares[k] - shift)
        underflowed += int((share < SMALLER) & (shares[k] > -np.inf))
        shares[k] = share
    shares[0] = top
    return underflowed > 0


@inner
def sum_children(
    grammar: Grammar, g: int, chart: Array, first: int, count: int, width: int, workspace: Workspace
) -> None:
    """Write the sums over the rules and children of ``count`` spans of a width to ``workspace.sums``."""
    if width == 2:
        multiply_words(first, count, workspace)
        product(grammar.words[g], workspace.two[:count], workspace.sums)
        return
    workspace.sums[:] = 0.0
    if width > 3:
        for j in range(count):
            add_pairs(chart, first + j, width, workspace, j)
        product(grammar.pairs[g], workspace.pairs[:count], workspace.sums)
    s = workspace.sums.shape[1]
    for j in range(count):
        i = first + j
        last = i + width - 1
        before, beside = workspace.shares[j, 1], workspace.shares[j, width - 1]
        for parent in range(s):
            left, right = 0.0, 0.0
            for k in range(s):
                left += workspace.before[i, parent * s + k] * chart[i + 1, width - 1, k]
                right += workspace.beside[last, parent * s + k] * chart[i, width - 1, k]
            workspace.sums[j, parent] += before * left + beside * right


@inner
def multiply_words(first: int, count: int, workspace: Workspace) -> None:
    """Write the products of neighbouring words' values to ``workspace.two``, for each pair of preterminals."""
    p = workspace.words.shape[1]
    for j in range(count):
        for b in range(p):
            for c in range(p):
                workspace.two[j, b * p + c] = workspace.words[first + j, b] * workspace.words[first + j + 1, c]


@inner
def add_pairs(chart: Array, i: int, width: int, workspace: Workspace, j: int) -> None:
    """Write the sums over split points between two nonterminals to row j of ``workspace.pairs``."""
    s = workspace.sums.shape[1]
    load_children(chart, i, width, workspace, j)
    workspace.pairs[j] = 0.0
    outer(workspace.left[: width - 3], workspace.right[: width - 3], workspace.pairs[j].reshape(s, s))


@inner
def load_children(chart: Array, i: int, width: int, workspace: Workspace, j: int) -> None:
    """Write the weighted left child and the right child for each split point between two nonterminals."""
    for k in range(2, width - 1):
        share = workspace.shares[j, k]
        for label in range(workspace.left.shape[1]):
            workspace.left[k - 2, label] = share * chart[i, k, label]
            workspace.right[k - 2, label] = chart[i + k, width - k, label]


@inner
def weigh_labels(spans: Array, b: int, i: int, width: int, workspace: Workspace) -> tuple[float, bool]:
    """Write the weights of a span's own scores to ``workspace.label_weights``, relative to the largest.

    Return the largest score, and True if a weight is too small.
    """
    s = workspace.sums.shape[1]
    scores = spans[b, i, i + width, :s]
    top = top_of(scores)
    return top, exponentials(scores, top, SMALLER, workspace.label_weights)


@inner
def _close(
    grammar: Grammar, g: int, spans: Array, b: int, chart: Array, i: int, width: int, workspace: Workspace, j: int
) -> bool:
    """Write the values of a span to the chart, from row j of ``workspace.sums``.

    Return True if a value is too small.
    """
    s = workspace.sums.shape[1]
    top, underflowed = weigh_labels(spans, b, i, width, workspace)
    peak = 0.0
    for label in range(s):
        value = workspace.sums[j, label] * workspace.label_weights[label]
        chart[i, width, label] = value
        peak = max(peak, value)
    if peak == 0.0:
        chart[i, width, s] = -np.inf
        return underflowed
    small = 0
    for label in range(s):
        chart[i, width, label] /= peak
        small += int((chart[i, width, label] < SMALL) & (chart[i, width, label] > 0.0))
    chart[i, width, s] = workspace.shares[j, 0] + grammar.rule_tops[g] + top + np.log(peak)
    chart[i, width, s + 1] = peak
    return underflowed or small > 0
