"""The k best trees of a grammar, each of which deviates from a better tree at one choice (Lawler 1972).

The first choice of a tree is the label of the whole sentence. Then comes one choice for each span of more than one
word, parents before children: the width of the left child with the labels of both children.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, choice_of_value, make_search, offer, score_to_beat, start, take
from strukt.kernels.jit import inner, kernel
from strukt.structures.pcfg.cpu_cky import (
    Scores,
    Workspace,
    best_children,
    fill,
    labels_of,
    make_workspace,
    values,
)


@kernel
def kbest(
    grammar: Scores, spans: Array, emission: Array, lengths: Array,
    labels: Array, scores: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the labels of the spans of the k best trees, or of all if there are fewer, and their scores.

    Arrays: ``spans (batch, n + 1, n + 1, s + p)``, ``emission (g, n, p)``, ``lengths (batch,)``, ``labels (batch,
    k, n + 1, n + 1)``, all -1 before, and ``scores (batch, k)``, -inf where there is no tree.
    """
    (batch, k), n = scores.shape, spans.shape[1] - 1
    workspace = make_workspace(n, grammar.root.shape[1], emission.shape[2])
    search = make_search(k, n)
    for b in range(start, batch, step):
        scores[b] = -np.inf
        if lengths[b] == 0:
            scores[b, 0] = 0.0
        elif lengths[b] > 1:
            fill(grammar, spans, emission, b, lengths[b], workspace)
            root = grammar.root[b * len(grammar.root) // batch]
            rules = grammar.rules[b * len(grammar.rules) // batch]
            _search(root, rules, lengths[b], workspace, search, labels[b], scores[b])


@inner
def _search(
    root: Array, rules: Array, n: int, workspace: Workspace, search: Search, labels: Array, scores: Array
) -> None:
    """Write the k best trees of one sentence, from the chart in ``workspace``.

    Arrays: ``root (s,)`` and ``rules (s, s + p, s + p)``; the results ``labels (k, n + 1, n + 1)``, all -1 before,
    and ``scores (k,)``, all -inf before.
    """
    tops = workspace.best
    for label in range(len(root)):
        tops[label] = root[label] + workspace.chart[0, n, label]
    start(search, tops.max())
    for rank in range(len(scores)):
        score, deviation = take(search, rank)
        if score == -np.inf:
            return
        scores[rank] = score
        top = choice_of_value(search, rank, 0, deviation, score, tops)
        _complete(rules, n, top, workspace, search, rank, deviation, score, labels[rank])


@inner
def _complete(
    rules: Array, n: int, top: int, workspace: Workspace, search: Search, rank: int, deviation: int, score: float,
    labels: Array,
) -> None:  # fmt: skip
    """Write the labels of the tree with number ``rank``, and queue trees that deviate from it.

    Its choices up to place ``deviation`` are stored. All later choices are the best ones, and every other choice
    at these places makes a tree that is queued.
    """
    choices = search.choices[rank]
    stack = np.empty((n, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, top
    depth, place = 1, 0
    while depth > 0:
        depth -= 1
        i, width, label = stack[depth]
        labels[i, i + width] = label
        if width == 1:
            continue
        place += 1
        if place > deviation:
            top_below, part, left, right = best_children(rules[label], i, width, workspace)
            choices[place] = _code(rules, part, left, right)
            _offer_others(rules[label], i, width, workspace, search, rank, place, score - top_below)
        part, left, right = _children(rules, choices[place])
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, part, left
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = i + part, width - part, right
        depth += 2


@inner
def _offer_others(
    rules: Array, i: int, width: int, workspace: Workspace, search: Search, rank: int, place: int, around: float
) -> None:
    """Queue a candidate for each other choice of a span's children; ``around`` is the span's outside score."""
    for part in range(1, width):
        above, below = values(workspace, i, part), values(workspace, i + part, width - part)
        (first, after), (start, _) = labels_of(workspace, part), labels_of(workspace, width - part)
        for left in range(first, after):
            high = around + above[left - first]
            if not _any_above(rules[left], start, below, high, score_to_beat(search.candidates, rank)):
                continue
            for c in range(len(below)):
                choice = _code(rules, part, left, start + c)
                if choice != search.choices[rank, place]:
                    offer(search.candidates, rank, place, choice, high + rules[left, start + c] + below[c])


@inner
def _any_above(rules: Array, start: int, below: Array, high: float, least: float) -> bool:
    """Return True if the score of a tree with some label of the right child is above ``least``.

    ``high`` is the outside score of the parent plus the score of the left child, and ``below`` are the scores of
    the right child. The loop has no exit, so that it is vectorised.
    """
    result = 0
    for c in range(len(below)):
        result += int(high + rules[start + c] + below[c] > least)
    return result > 0


@inner
def _code(rules: Array, part: int, left: int, right: int) -> int:
    """Encode the width of the left child and the labels of both children as one number."""
    labels = rules.shape[-1]
    return (part * labels + left) * labels + right  # type: ignore[no-any-return]


@inner
def _children(rules: Array, code: int) -> tuple[int, int, int]:
    """Decode the result of `_code`."""
    labels = rules.shape[-1]
    return code // (labels * labels), code // labels % labels, code % labels
