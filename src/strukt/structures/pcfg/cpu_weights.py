"""The scores of a grammar as weights: exponentials in double precision, scaled to a maximum of 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel
from strukt.kernels.memory import empty

SMALL = 1e-50
"""The least nonzero weight of rules, words and labels in probability space; smaller weights need log space."""

SMALLER = 1e-75
"""The least nonzero weight of spans and split points; a product with all other weights is then a normal number."""


class Grammar(NamedTuple):
    """The weights of a grammar, with a first axis of groups of items that share it.

    Attributes:
        root: ``(groups, s)``, the weights of root labels.
        root_tops: ``(groups,)``, the largest root score, which was subtracted from all.
        rules: ``(groups, s, s + p, s + p)``, the weights of all rules, ``[A, B, C]`` for A -> B C.
        rule_tops: ``(groups,)``, the largest rule score, which was subtracted from all.
        pairs: ``(groups, s, s s)``, the rules with two nonterminals as children, ``[A, (B, C)]``.
        words: ``(groups, s, p p)``, the rules with two words as children, ``[A, (b, c)]``.
        beside: ``(groups, s s, p)``, the rules A -> B word, ``[(A, B), c]`` for preterminal c.
        before: ``(groups, s s, p)``, the rules A -> word C, ``[(A, C), c]`` for preterminal c.
    """

    root: Array
    root_tops: Array
    rules: Array
    rule_tops: Array
    pairs: Array
    words: Array
    beside: Array
    before: Array


def weigh(batch: int, root: Array, rules: Array) -> tuple[Grammar, Array]:
    """Return the weights of root labels and rules, and a mask of the items with a weight that underflows.

    Arrays: ``root (groups, s)``, ``rules (groups, s, s + p, s + p)``, and the mask ``(batch,)``.
    """
    starts, root_tops, root_underflowed = _weights_of(root)
    table, rule_tops, rules_underflowed = _weights_of(rules)
    underflowed = np.zeros(batch, np.bool_)
    for few in (root_underflowed, rules_underflowed):
        underflowed |= np.repeat(few, batch // len(few))
    return arranged(starts, root_tops, table, rule_tops), underflowed


def arranged(root: Array, root_tops: Array, rules: Array, rule_tops: Array) -> Grammar:
    """Return a `Grammar` with its rules also arranged as matrices."""
    s, p = rules.shape[1], rules.shape[2] - rules.shape[1]
    return Grammar(
        root,
        root_tops,
        rules,
        rule_tops,
        laid_out(rules[:, :, :s, :s], s, s * s),
        laid_out(rules[:, :, s:, s:], s, p * p),
        laid_out(rules[:, :, :s, s:], s * s, p),
        laid_out(rules[:, :, s:, :s].swapaxes(2, 3), s * s, p),
    )


def _weights_of(scores: Array) -> tuple[Array, Array, Array]:
    """Return the weights of scores ``(groups, ...)``, the largest score of each group, and a mask of groups.

    The mask is True for groups with a weight that underflows.
    """
    weights, tops = empty(scores.shape), empty((len(scores),))
    underflowed = np.zeros(len(scores), np.bool_)
    groups = len(scores)
    _weigh(scores.reshape(groups, -1), weights.reshape(groups, -1), tops, underflowed)
    return weights, tops, underflowed


def laid_out(block: Array, *shape: int) -> Array:
    """Return a contiguous copy of a block of scores, with this shape in each group."""
    result = empty(block.shape)
    result[:] = block
    return result.reshape(len(block), *shape)


@kernel
def _weigh(scores: Array, weights: Array, tops: Array, underflowed: Array) -> None:
    """Write the weights of scores, the largest score of each group, and a mask of groups in which one underflows.

    Arrays: ``scores`` and ``weights (groups, size)``; ``tops`` and ``underflowed (groups,)``.
    """
    for g in range(len(scores)):
        tops[g] = top_of(scores[g])
        underflowed[g] = exponentials(scores[g], tops[g], SMALL, weights[g])


@inner
def top_of(scores: Array) -> float:
    """Return the largest score."""
    top = -np.inf
    for x in scores:
        top = max(top, np.float64(x))
    return top


@inner
def exponentials(scores: Array, top: float, least: float, weights: Array) -> bool:
    """Write exp(scores - top) to ``weights``, where ``top`` is the largest score.

    Return True if a weight is below ``least``, other than those of scores of -inf.
    """
    shift = top if top > -np.inf else 0.0
    for k in range(len(scores)):
        weights[k] = exp(scores[k] - shift)
    underflowed = 0
    for k in range(len(scores)):
        underflowed += int((weights[k] < least) & (scores[k] > -np.inf))
    return underflowed > 0
