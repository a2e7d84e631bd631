"""The best tree of a grammar (CKY): the inside pass with maxima, then a trace back from the root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.pcfg.cpu_products import max_outer, max_pull
from strukt.structures.pcfg.cpu_weights import laid_out


class Scores(NamedTuple):
    """The scores of a grammar in double precision.

    All matrices of rules have the parent last, so that inner loops run over parents.

    Attributes:
        root: ``(groups, s)``, the scores of root labels.
        rules: ``(groups, s, s + p, s + p)``, the scores of all rules, ``[A, B, C]`` for A -> B C.
        pairs: ``(groups, s s, s)``, the rules with two nonterminals as children, ``[(B, C), A]``.
        words: ``(groups, p p, s)``, the rules with two words as children, ``[(b, c), A]``.
        beside: ``(groups, p, s s)``, the rules A -> B word, ``[c, (B, A)]`` for preterminal c.
        before: ``(groups, p, s s)``, the rules A -> word C, ``[c, (C, A)]`` for preterminal c.
    """

    root: Array
    rules: Array
    pairs: Array
    words: Array
    beside: Array
    before: Array


class Workspace(NamedTuple):
    """Workspace for one sentence.

    Attributes:
        chart: ``(n, n + 1, s)``, the best score of each span by first fencepost and width.
        words: ``(n, p)``, the score of each word with each preterminal.
        beside: ``(n, s, s)``, for each word the best score of a rule A -> B word, ``[B, A]``.
        before: ``(n, s, s)``, for each word the best score of a rule A -> word C, ``[C, A]``.
        left: ``(n, s)``, the scores of the left child for each split point of a span.
        right: ``(n, s)``, the scores of the right child for each split point.
        pairs: ``(s, s)``, the best score over split points for each pair of labels of children.
        two: ``(p p,)``, the score of two words for each pair of preterminals.
        best: ``(s,)``, the best score of the children of a span with each label.
        column: ``(max(s, p),)``, for each label of a right child the best score of a left child and the rule.
    """

    chart: Array
    words: Array
    beside: Array
    before: Array
    left: Array
    right: Array
    pairs: Array
    two: Array
    best: Array
    column: Array


def arranged(root: Array, rules: Array) -> Scores:
    """Return scores of roots and rules in the layout of `Scores`."""
    s, p = rules.shape[1], rules.shape[2] - rules.shape[1]
    return Scores(
        laid_out(root, s),
        laid_out(rules, *rules.shape[1:]),
        laid_out(rules[:, :, :s, :s].transpose(0, 2, 3, 1), s * s, s),
        laid_out(rules[:, :, s:, s:].transpose(0, 2, 3, 1), p * p, s),
        laid_out(rules[:, :, :s, s:].transpose(0, 3, 2, 1), p, s * s),
        laid_out(rules[:, :, s:, :s].transpose(0, 2, 3, 1), p, s * s),
    )


@inner
def make_workspace(n: int, s: int, p: int) -> Workspace:
    """Allocate an uninitialised workspace."""
    return Workspace(
        np.empty((n, n + 1, s)),
        np.empty((n, p)),
        np.empty((n, s, s)),
        np.empty((n, s, s)),
        np.empty((n, s)),
        np.empty((n, s)),
        np.empty((s, s)),
        np.empty(p * p),
        np.empty(s),
        np.empty(max(s, p)),
    )


@kernel
def best(
    grammar: Scores, spans: Array, emission: Array, lengths: Array,
    labels: Array, score: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the labels of the spans of the best tree, and its score; -inf if there is no tree.

    Arrays: ``spans (batch, n + 1, n + 1, s + p)``, ``emission (g, n, p)``, ``lengths`` and ``score (batch,)``, and
    ``labels (batch, n + 1, n + 1)``. Before, scores are 0, which is left for empty sentences, and labels are -1.
    """
    batch, n, s = len(spans), spans.shape[1] - 1, grammar.root.shape[1]
    workspace = make_workspace(n, s, emission.shape[2])
    for b in range(start, batch, step):
        n = lengths[b]
        if n == 0:
            continue
        score[b] = -np.inf
        if n == 1:
            continue
        fill(grammar, spans, emission, b, n, workspace)
        group = b * len(grammar.root) // batch
        top = 0
        for label in range(s):
            value = grammar.root[group, label] + workspace.chart[0, n, label]
            if value > score[b]:
                score[b], top = value, label
        if score[b] > -np.inf:
            _trace(grammar.rules[b * len(grammar.rules) // batch], n, top, workspace, labels[b])


@inner
def fill(grammar: Scores, spans: Array, emission: Array, b: int, n: int, workspace: Workspace) -> None:
    """Write the best score of each span with each label to the chart, from narrow spans to wide ones."""
    _load(grammar, spans, emission, b, n, workspace)
    for width in range(2, n + 1):
        for i in range(n + 1 - width):
            _children(grammar, b * len(grammar.rules) // len(spans), i, width, workspace)
            for label in range(len(workspace.best)):
                workspace.chart[i, width, label] = workspace.best[label] + spans[b, i, i + width, label]


@inner
def _load(grammar: Scores, spans: Array, emission: Array, b: int, n: int, workspace: Workspace) -> None:
    """Write the scores of words, and for each word the best scores of rules with it as a child."""
    batch, s = len(spans), grammar.root.shape[1]
    group, g = b * len(emission) // batch, b * len(grammar.rules) // batch
    workspace.beside[:n] = -np.inf
    workspace.before[:n] = -np.inf
    for i in range(n):
        for c in range(workspace.words.shape[1]):
            workspace.words[i, c] = np.float64(spans[b, i, i + 1, s + c]) + emission[group, i, c]
        max_pull(grammar.beside[g], workspace.words[i], workspace.beside[i].reshape(-1))
        max_pull(grammar.before[g], workspace.words[i], workspace.before[i].reshape(-1))


@inner
def _children(grammar: Scores, g: int, i: int, width: int, workspace: Workspace) -> None:
    """Write the best score of the children of a span with each label to ``workspace.best``."""
    s, p = workspace.best.shape[0], workspace.words.shape[1]
    workspace.best[:] = -np.inf
    if width == 2:
        for b in range(p):
            for c in range(p):
                workspace.two[b * p + c] = workspace.words[i, b] + workspace.words[i + 1, c]
        max_pull(grammar.words[g], workspace.two, workspace.best)
        return
    max_pull(workspace.beside[i + width - 1], workspace.chart[i, width - 1], workspace.best)
    max_pull(workspace.before[i], workspace.chart[i + 1, width - 1], workspace.best)
    if width > 3:
        for k in range(2, width - 1):
            for label in range(s):
                workspace.left[k - 2, label] = workspace.chart[i, k, label]
                workspace.right[k - 2, label] = workspace.chart[i + k, width - k, label]
        max_outer(workspace.left[: width - 3], workspace.right[: width - 3], workspace.pairs)
        max_pull(grammar.pairs[g], workspace.pairs.reshape(-1), workspace.best)


@inner
def _trace(rules: Array, n: int, top: int, workspace: Workspace, labels: Array) -> None:
    """Trace back the best tree from its root label ``top``; write its labels."""
    stack = np.empty((n, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, top
    depth = 1
    while depth > 0:
        depth -= 1
        i, width, label = stack[depth]
        labels[i, i + width] = label
        if width > 1:
            _, part, left, right = best_children(rules[label], i, width, workspace)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, part, left
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = i + part, width - part, right
            depth += 2


@inner
def best_children(rules: Array, i: int, width: int, workspace: Workspace) -> tuple[float, int, int, int]:
    """Return the best score of a span's children, the width of the left child, and the labels of both children.

    ``rules`` are those of the span's label.
    """
    top, part, right = -np.inf, 0, 0
    for k in range(1, width):
        below, (first, _) = values(workspace, i + k, width - k), labels_of(workspace, width - k)
        _best_left(rules, i, k, first, len(below), workspace)
        for c in range(len(below)):
            if workspace.column[c] + below[c] > top:
                top, part, right = workspace.column[c] + below[c], k, first + c
    above, (first, _) = values(workspace, i, part), labels_of(workspace, part)
    left, highest = first, -np.inf
    for label in range(first, first + len(above)):
        if above[label - first] + rules[label, right] > highest:
            left, highest = label, above[label - first] + rules[label, right]
    return top, part, left, right


@inner
def _best_left(rules: Array, i: int, width: int, start: int, count: int, workspace: Workspace) -> None:
    """Write the best score of a left child plus the rule to ``workspace.column``, by label of the right child.

    The labels of the right child are the ``count`` labels from ``start`` on.
    """
    above, (first, _) = values(workspace, i, width), labels_of(workspace, width)
    workspace.column[:count] = -np.inf
    for label in range(len(above)):
        for c in range(count):
            workspace.column[c] = max(workspace.column[c], above[label] + rules[first + label, start + c])


@inner
def values(workspace: Workspace, i: int, width: int) -> Array:
    """Return the best scores of a span or word with each of its possible labels."""
    return workspace.words[i] if width == 1 else workspace.chart[i, width]  # type: ignore[no-any-return]


@inner
def labels_of(workspace: Workspace, width: int) -> tuple[int, int]:
    """Return the range of possible labels of a span of a width: the first, and one more than the last."""
    s, p = workspace.best.shape[0], workspace.words.shape[1]
    return (s, s + p) if width == 1 else (0, s)
