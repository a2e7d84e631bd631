"""Derivatives of a grammar's marginals along a direction of its scores: the outside pass in forward mode.

It runs after `cpu_inside_derivative`, which defines moves. Each `Workspace` and each `cpu_outside.Outside` comes
with a second one, which holds its moves.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.pcfg.cpu_duals import move_outer, move_product, move_pull
from strukt.structures.pcfg.cpu_inside import Workspace, make_workspace, weigh_labels, weigh_splits
from strukt.structures.pcfg.cpu_inside_derivative import Moves, grow_item, move_pairs, move_splits, move_words
from strukt.structures.pcfg.cpu_outside import Expected, Outside, clear, make_outside, open_sentence
from strukt.structures.pcfg.cpu_products import BLOCK, product
from strukt.structures.pcfg.cpu_weights import Grammar


@kernel
def change(
    grammar: Grammar, moves: Moves, spans: Array, emission: Array, lengths: Array, chart: Array, weights: Array,
    least: Array, growth: Array, expected: Expected, expected_moves: Expected, changes: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write the growth of each item, and the changes of the marginals of its labelled spans, times its weight.

    The derivatives with respect to the weights of rules are added to ``expected``, their moves to
    ``expected_moves``. An item that grows by less than ``least (batch,)`` is left out; its ``growth (batch,)``
    becomes NaN. ``changes`` has the shape of ``spans``; the other arrays are those of `cpu_outside.outside`.
    """
    batch, n, s = len(chart), chart.shape[1], grammar.root.shape[1]
    p = emission.shape[2]
    workspace, moved, grown = make_workspace(n, s, p), make_workspace(n, s, p), np.empty((n, n + 1, s))
    around, around_moves = make_outside(n, s, p), make_outside(n, s, p)
    slot = start % len(expected.pairs)
    for b in range(start, batch, step):
        n, g = lengths[b], b * len(grammar.rules) // batch
        growth[b] = grow_item(grammar, moves, spans, emission, b, n, chart[b], workspace, moved, grown)
        if not growth[b] >= least[b]:
            growth[b] = np.nan
            continue
        if n < 2 or chart[b, 0, n, s] == -np.inf:
            continue
        if not _open(grammar, moves, b, batch, n, chart[b], growth[b], around, around_moves):
            continue
        for width in range(n, 1, -1):
            for first in range(0, n + 1 - width, BLOCK):
                count = min(BLOCK, n + 1 - width - first)
                for j in range(count):
                    _slopes(
                        moves, spans, b, chart[b], first + j, width, weights[b], workspace, moved, grown, around,
                        around_moves, j,
                    )  # fmt: skip
                _to_children(
                    grammar, moves, g, chart[b], first, count, width, workspace, moved, grown, around,
                    around_moves, expected, expected_moves, slot,
                )  # fmt: skip
        _to_words(
            grammar, moves, g, n, weights[b], workspace, moved, around, around_moves, expected, expected_moves,
            slot,
        )  # fmt: skip
        _store(b, n, weights[b], workspace, moved, around, around_moves, changes)


@inner
def _open(
    grammar: Grammar, moves: Moves, b: int, batch: int, n: int, chart: Array, growth: float,
    around: Outside, around_moves: Outside,
) -> bool:  # fmt: skip
    """Write the outside values of the whole sentence and their moves; return True if there is a tree."""
    group, total = b * len(grammar.root) // batch, open_sentence(grammar, b, batch, n, chart, around)
    if total == 0.0:
        return False
    clear(around_moves, n)
    for label in range(grammar.root.shape[1]):
        move = moves.grammar.root[group, label] / total - around.spans[0, n, label] * growth
        around_moves.spans[0, n, label] = move
    return True


@inner
def _slopes(
    moves: Moves, spans: Array, b: int, chart: Array, i: int, width: int, weight: float, workspace: Workspace,
    moved: Workspace, grown: Array, around: Outside, around_moves: Outside, j: int,
) -> None:  # fmt: skip
    """Write derivatives with respect to the sums over a span's rules and children, and their moves, to row j.

    The moves of the span's outside values become those of its marginals.
    """
    weigh_labels(spans, b, i, width, workspace)
    weigh_splits(chart, i, width, workspace.shares[j])
    move_splits(moves.logs[b], i, width, workspace.shares[j], moved.shares[j])
    for label in range(workspace.sums.shape[1]):
        value = chart[i, width, label]
        slope, move = 0.0, 0.0
        if value > 0.0:
            rate = workspace.label_weights[label] / chart[i, width, -1]
            slope = around.spans[i, width, label] * rate
            move = around_moves.spans[i, width, label] * rate + slope * moves.spans[b, i, width, label]
        around.slopes[j, label], around_moves.slopes[j, label] = slope, move
        around.weighted[j, label], around_moves.weighted[j, label] = weight * slope, weight * move
        around_moves.spans[i, width, label] *= value
        around_moves.spans[i, width, label] += around.spans[i, width, label] * grown[i, width, label]


@inner
def _to_children(
    grammar: Grammar, moves: Moves, g: int, chart: Array, first: int, count: int, width: int, workspace: Workspace,
    moved: Workspace, grown: Array, around: Outside, around_moves: Outside, expected: Expected,
    expected_moves: Expected, slot: int,
) -> None:  # fmt: skip
    """Propagate derivatives from spans of a width to their children, and to the rules between them."""
    slopes, slope_moves = around.slopes[:count], around_moves.slopes[:count]
    weighted, weighted_moves = around.weighted[:count], around_moves.weighted[:count]
    if width == 2:
        move_words(first, count, workspace, moved)
        move_outer(
            weighted, weighted_moves, workspace.two[:count], moved.two[:count], expected.words[slot, g],
            expected_moves.words[slot, g],
        )  # fmt: skip
        around.two[:] = 0.0
        around_moves.two[:] = 0.0
        move_pull(
            grammar.words[g], moves.grammar.words[g], slopes, slope_moves, around.two, around_moves.two
        )
        for j in range(count):
            _to_two_words(first + j, workspace, moved, around, around_moves, j)
        return
    for j in range(count):
        _to_sides(chart, grown, first + j, width, workspace, moved, around, around_moves, j)
    if width > 3:
        around.pairs[:] = 0.0
        around_moves.pairs[:] = 0.0
        move_pull(
            grammar.pairs[g], moves.grammar.pairs[g], slopes, slope_moves, around.pairs, around_moves.pairs
        )
        for j in range(count):
            move_pairs(chart, grown, first + j, width, workspace, moved, j)
            _to_pairs(first + j, width, workspace, moved, around, around_moves, j)
        move_outer(
            weighted, weighted_moves, workspace.pairs[:count], moved.pairs[:count], expected.pairs[slot, g],
            expected_moves.pairs[slot, g],
        )  # fmt: skip


@inner
def _to_two_words(
    i: int, workspace: Workspace, moved: Workspace, around: Outside, around_moves: Outside, j: int
) -> None:
    """Propagate derivatives and their moves from two words, row j of ``around.two``, to each of them."""
    p = workspace.words.shape[1]
    for b in range(p):
        left, left_move = workspace.words[i, b], moved.words[i, b]
        total, total_move = 0.0, 0.0
        for c in range(p):
            slope, move = around.two[j, b * p + c], around_moves.two[j, b * p + c]
            right, right_move = workspace.words[i + 1, c], moved.words[i + 1, c]
            total += slope * right
            total_move += move * right + slope * right_move
            around.words[i + 1, c] += slope * left
            around_moves.words[i + 1, c] += move * left + slope * left_move
        around.words[i, b] += total
        around_moves.words[i, b] += total_move


@inner
def _to_sides(
    chart: Array, grown: Array, i: int, width: int, workspace: Workspace, moved: Workspace, around: Outside,
    around_moves: Outside, j: int,
) -> None:  # fmt: skip
    """Propagate derivatives and their moves from a span to its splits into a word and a wider child."""
    narrow = width - 1
    last = i + narrow
    _to_side(
        chart[i + 1, narrow], grown[i + 1, narrow], workspace.shares[j, 1], moved.shares[j, 1],
        workspace.before[i], moved.before[i], around.slopes[j], around_moves.slopes[j],
        around.spans[i + 1, narrow], around_moves.spans[i + 1, narrow], around.before[i], around_moves.before[i],
    )  # fmt: skip
    _to_side(
        chart[i, narrow], grown[i, narrow], workspace.shares[j, narrow], moved.shares[j, narrow],
        workspace.beside[last], moved.beside[last], around.slopes[j], around_moves.slopes[j],
        around.spans[i, narrow], around_moves.spans[i, narrow], around.beside[last], around_moves.beside[last],
    )  # fmt: skip


@inner
def _to_side(
    values: Array, value_moves: Array, share: float, share_move: float, rules: Array, rule_moves: Array,
    slopes: Array, slope_moves: Array, span: Array, span_moves: Array, around: Array, around_moves: Array,
) -> None:  # fmt: skip
    """Propagate derivatives from a span to one child, and to the rules summed with the word that is the other.

    Each argument is followed by its moves: the child's inside values ``(s,)``; the weight of the split point; the
    rules ``(s s,)``; the derivatives of the span, ``slopes (s,)``; those of the child, ``span (s,)``, and of the
    rules, ``around (s s,)``, to which is added.
    """
    s = len(slopes)
    for parent in range(s):
        row = parent * s
        slope = share * slopes[parent]
        move = share_move * slopes[parent] + share * slope_moves[parent]
        for k in range(s):
            span[k] += slope * rules[row + k]
            span_moves[k] += move * rules[row + k] + slope * rule_moves[row + k]
        for k in range(s):
            around[row + k] += slope * values[k]
            around_moves[row + k] += move * values[k] + slope * value_moves[k]


@inner
def _to_pairs(
    i: int, width: int, workspace: Workspace, moved: Workspace, around: Outside, around_moves: Outside, j: int
) -> None:
    """Propagate derivatives and their moves from the pairs of children of a span to both children."""
    s, count = workspace.sums.shape[1], width - 3
    slopes, slope_moves = around.pairs[j].reshape(s, s), around_moves.pairs[j].reshape(s, s)
    around.right[:count] = 0.0
    around_moves.right[:count] = 0.0
    move_pull(slopes, slope_moves, workspace.left[:count], moved.left[:count], around.right, around_moves.right)
    product(slopes, workspace.right[:count], around.left)
    move_product(slopes, slope_moves, workspace.right[:count], moved.right[:count], around_moves.left)
    for k in range(2, width - 1):
        share, share_move = workspace.shares[j, k], moved.shares[j, k]
        for label in range(s):
            left = around.left[k - 2, label]
            around.spans[i, k, label] += share * left
            around_moves.spans[i, k, label] += share * around_moves.left[k - 2, label] + share_move * left
            around.spans[i + k, width - k, label] += around.right[k - 2, label]
            around_moves.spans[i + k, width - k, label] += around_moves.right[k - 2, label]


@inner
def _to_words(
    grammar: Grammar, moves: Moves, g: int, n: int, weight: float, workspace: Workspace, moved: Workspace,
    around: Outside, around_moves: Outside, expected: Expected, expected_moves: Expected, slot: int,
) -> None:  # fmt: skip
    """Propagate derivatives from the sums over rules with words to these rules and to the words.

    The values of words are multiplied by the item's weight, also for `_store`.
    """
    move_pull(
        grammar.beside[g], moves.grammar.beside[g], around.beside[:n], around_moves.beside[:n], around.words,
        around_moves.words,
    )  # fmt: skip
    move_pull(
        grammar.before[g], moves.grammar.before[g], around.before[:n], around_moves.before[:n], around.words,
        around_moves.words,
    )  # fmt: skip
    for i in range(n):
        for c in range(workspace.words.shape[1]):
            workspace.words[i, c] *= weight
            moved.words[i, c] *= weight
    words, word_moves = workspace.words[:n], moved.words[:n]
    move_outer(
        around.beside[:n], around_moves.beside[:n], words, word_moves, expected.beside[slot, g],
        expected_moves.beside[slot, g],
    )  # fmt: skip
    move_outer(
        around.before[:n], around_moves.before[:n], words, word_moves, expected.before[slot, g],
        expected_moves.before[slot, g],
    )  # fmt: skip


@inner
def _store(
    b: int, n: int, weight: float, workspace: Workspace, moved: Workspace, around: Outside, around_moves: Outside,
    changes: Array,
) -> None:  # fmt: skip
    """Write the moves of the marginals of item b, times its weight; words were multiplied by it before."""
    s = workspace.sums.shape[1]
    for i in range(n):
        for c in range(workspace.words.shape[1]):
            change = moved.words[i, c] * around.words[i, c] + workspace.words[i, c] * around_moves.words[i, c]
            changes[b, i, i + 1, s + c] = change
        for width in range(2, n - i + 1):
            for label in range(s):
                changes[b, i, i + width, label] = weight * around_moves.spans[i, width, label]
