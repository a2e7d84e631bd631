"""Derivatives of a grammar's log-partition along a direction of its scores: the inside pass in forward mode.

Each value is stored with its *move*, the derivative along a direction of the scores. An entropy is such a
derivative of the log-partition: if each score moves by its surprise, minus the log of its weight, the move of a
value is its expected surprise. Since values are divided by their maximum, surprises are relative to the log of
this maximum. They stay as small as the logs of scaled values, however large the scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.pcfg.cpu_duals import move_outer, move_product
from strukt.structures.pcfg.cpu_inside import (
    Workspace,
    load,
    load_children,
    make_workspace,
    multiply_words,
    weigh_labels,
    weigh_splits,
)
from strukt.structures.pcfg.cpu_products import BLOCK
from strukt.structures.pcfg.cpu_weights import Grammar, top_of


class Moves(NamedTuple):
    """A direction along which the logs of the scaled values of a batch move.

    Attributes:
        grammar: The moves of the weights of a `Grammar`: each weight times its direction.
        spans: ``(batch, n, n + 1, s)``, the direction of each labelled span, by first fencepost and width.
        words: ``(batch, n, p)``, the direction of each word with each preterminal.
        logs: ``(batch, n, n + 1)``, the logs of spans. The log-weight of a split point moves by minus the sum of
            these logs of both children, relative to the largest such sum.
    """

    grammar: Grammar
    spans: Array
    words: Array
    logs: Array


@kernel
def grow(
    grammar: Grammar, moves: Moves, spans: Array, emission: Array, lengths: Array, chart: Array, growth: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write the growth of each item, the derivative of its log-partition, to ``growth (batch,)``.

    ``spans``, ``emission``, ``lengths`` and ``chart`` are as in `cpu_inside.inside`.
    """
    batch, n, s = len(chart), chart.shape[1], grammar.root.shape[1]
    workspace, moved = make_workspace(n, s, emission.shape[2]), make_workspace(n, s, emission.shape[2])
    grown = np.empty((n, n + 1, s))
    for b in range(start, batch, step):
        growth[b] = grow_item(grammar, moves, spans, emission, b, lengths[b], chart[b], workspace, moved, grown)


@inner
def grow_item(
    grammar: Grammar, moves: Moves, spans: Array, emission: Array, b: int, n: int, chart: Array,
    workspace: Workspace, moved: Workspace, grown: Array,
) -> float:  # fmt: skip
    """Return the growth of one item, 0 if there is no tree.

    The moves of the chart are written to ``grown (n, n + 1, s)``, those of ``workspace`` to ``moved``.
    """
    batch, s = len(spans), grammar.root.shape[1]
    group, g = b * len(grammar.root) // batch, b * len(grammar.rules) // batch
    if n < 2 or chart[0, n, s] == -np.inf:
        return 0.0
    load(grammar, spans, emission, b, n, chart, workspace)
    load_moves(grammar, moves, b, g, n, workspace, moved)
    for width in range(2, n + 1):
        for first in range(0, n + 1 - width, BLOCK):
            count = min(BLOCK, n + 1 - width - first)
            for j in range(count):
                weigh_splits(chart, first + j, width, workspace.shares[j])
                move_splits(moves.logs[b], first + j, width, workspace.shares[j], moved.shares[j])
            _move_children(grammar, moves, g, chart, first, count, width, workspace, moved, grown)
            for j in range(count):
                _close(moves, spans, b, chart, first + j, width, workspace, moved, grown, j)
    total, change = 0.0, 0.0
    for label in range(s):
        total += grammar.root[group, label] * chart[0, n, label]
        change += moves.grammar.root[group, label] * chart[0, n, label]
        change += grammar.root[group, label] * grown[0, n, label]
    return change / total if total > 0.0 else 0.0


@inner
def load_moves(
    grammar: Grammar, moves: Moves, b: int, g: int, n: int, workspace: Workspace, moved: Workspace
) -> None:
    """Write the moves of the values of words, and of the rules summed with each word."""
    for i in range(n):
        for c in range(workspace.words.shape[1]):
            value = workspace.words[i, c]
            moved.words[i, c] = value * moves.words[b, i, c] if value > 0.0 else 0.0
    words, word_moves = workspace.words[:n], moved.words[:n]
    move_product(grammar.beside[g], moves.grammar.beside[g], words, word_moves, moved.beside)
    move_product(grammar.before[g], moves.grammar.before[g], words, word_moves, moved.before)


@inner
def move_splits(logs: Array, i: int, width: int, shares: Array, share_moves: Array) -> None:
    """Write the moves of the weights of the split points of a span; 0 if a log is -inf."""
    top = -np.inf
    for k in range(1, width):
        share_moves[k] = logs[i, k] + logs[i + k, width - k]
        top = max(top, share_moves[k])
    for k in range(1, width):
        possible = shares[k] > 0.0 and share_moves[k] > -np.inf
        share_moves[k] = shares[k] * (top - share_moves[k]) if possible else 0.0


@inner
def _move_children(
    grammar: Grammar, moves: Moves, g: int, chart: Array, first: int, count: int, width: int,
    workspace: Workspace, moved: Workspace, grown: Array,
) -> None:  # fmt: skip
    """Write the moves of the sums over the rules and children of ``count`` spans of a width to ``moved.sums``."""
    s = workspace.sums.shape[1]
    if width == 2:
        move_words(first, count, workspace, moved)
        move_product(
            grammar.words[g], moves.grammar.words[g], workspace.two[:count], moved.two[:count], moved.sums
        )
        return
    moved.sums[:] = 0.0
    if width > 3:
        for j in range(count):
            move_pairs(chart, grown, first + j, width, workspace, moved, j)
        pairs, pair_moves = workspace.pairs[:count], moved.pairs[:count]
        move_product(grammar.pairs[g], moves.grammar.pairs[g], pairs, pair_moves, moved.sums)
    for j in range(count):
        i, narrow = first + j, width - 1
        last = i + narrow
        before, beside = workspace.shares[j, 1], workspace.shares[j, narrow]
        for parent in range(s):
            left, right, left_move, right_move = 0.0, 0.0, 0.0, 0.0
            for k in range(s):
                x, y = workspace.before[i, parent * s + k], workspace.beside[last, parent * s + k]
                value, other = chart[i + 1, narrow, k], chart[i, narrow, k]
                left += x * value
                right += y * other
                left_move += x * grown[i + 1, narrow, k] + moved.before[i, parent * s + k] * value
                right_move += y * grown[i, narrow, k] + moved.beside[last, parent * s + k] * other
            moved.sums[j, parent] += before * left_move + moved.shares[j, 1] * left
            moved.sums[j, parent] += beside * right_move + moved.shares[j, narrow] * right


@inner
def move_words(first: int, count: int, workspace: Workspace, moved: Workspace) -> None:
    """Write the products of the values of neighbouring words, and their moves."""
    p = workspace.words.shape[1]
    multiply_words(first, count, workspace)
    for j in range(count):
        i = first + j
        for b in range(p):
            for c in range(p):
                move = moved.words[i, b] * workspace.words[i + 1, c]
                move += workspace.words[i, b] * moved.words[i + 1, c]
                moved.two[j, b * p + c] = move


@inner
def move_pairs(
    chart: Array, grown: Array, i: int, width: int, workspace: Workspace, moved: Workspace, j: int
) -> None:
    """Write the sums over split points between two nonterminals, and their moves, to row j of both workspaces."""
    s, count = workspace.sums.shape[1], width - 3
    load_children(chart, i, width, workspace, j)
    for k in range(2, width - 1):
        share, move = workspace.shares[j, k], moved.shares[j, k]
        for label in range(s):
            moved.left[k - 2, label] = share * grown[i, k, label] + move * chart[i, k, label]
            moved.right[k - 2, label] = grown[i + k, width - k, label]
    workspace.pairs[j] = 0.0
    moved.pairs[j] = 0.0
    move_outer(
        workspace.left[:count], moved.left[:count], workspace.right[:count], moved.right[:count],
        workspace.pairs[j].reshape(s, s), moved.pairs[j].reshape(s, s),
    )  # fmt: skip


@inner
def _close(
    moves: Moves, spans: Array, b: int, chart: Array, i: int, width: int,
    workspace: Workspace, moved: Workspace, grown: Array, j: int,
) -> None:  # fmt: skip
    """Write the moves of the values of a span from those of the sums over its children."""
    weigh_labels(spans, b, i, width, workspace)
    for label in range(workspace.sums.shape[1]):
        value, move = chart[i, width, label], 0.0
        if value > 0.0:
            move = workspace.label_weights[label] / chart[i, width, -1] * moved.sums[j, label]
            move += value * moves.spans[b, i, width, label]
        grown[i, width, label] = move


@kernel
def directions(spans: Array, emission: Array, lengths: Array, moves: Moves, start: int, step: int) -> None:
    """Write to ``moves`` a direction of the scores of spans and words; logs of spans do not move.

    The direction is ``spans (batch, n + 1, n + 1, s + p)`` and ``emission (g, n, p)``; ``lengths`` is
    ``(batch,)``.
    """
    batch, s = len(spans), moves.spans.shape[3]
    for b in range(start, batch, step):
        n, group = lengths[b], b * len(emission) // batch
        for i in range(n):
            for c in range(emission.shape[2]):
                moves.words[b, i, c] = np.float64(spans[b, i, i + 1, s + c]) + emission[group, i, c]
            for width in range(1, n - i + 1):
                moves.logs[b, i, width] = 0.0
                for label in range(s):
                    moves.spans[b, i, width, label] = spans[b, i, i + width, label]


@kernel
def surprises(
    spans: Array, emission: Array, lengths: Array, chart: Array, moves: Moves, largest: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write to ``moves`` the surprises of spans and words as a direction: minus the logs of their weights.

    The largest absolute value of the logs in the chart of each item is written to ``largest (batch,)``; the other
    arrays are those of `grow`.
    """
    batch, s = len(spans), moves.spans.shape[3]
    for b in range(start, batch, step):
        n, group = lengths[b], b * len(emission) // batch
        largest[b] = 0.0
        for i in range(n):
            for c in range(emission.shape[2]):
                score = np.float64(spans[b, i, i + 1, s + c]) + emission[group, i, c]
                moves.words[b, i, c] = chart[b, i, 1, s] - score
            for width in range(1, n - i + 1):
                log = chart[b, i, width, s]
                moves.logs[b, i, width] = log
                moves.spans[b, i, width] = np.inf
                if log > -np.inf:
                    largest[b] = max(largest[b], abs(log))
                    if width > 1:
                        scores = spans[b, i, i + width, :s]
                        top, rest = top_of(scores), np.log(chart[b, i, width, s + 1])
                        for label in range(s):
                            moves.spans[b, i, width, label] = (top - scores[label]) + rest
