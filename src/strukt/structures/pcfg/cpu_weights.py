"""The scores of a grammar as weights: exponentials in double precision, scaled to a maximum of 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel
from strukt.kernels.memory import empty

SMALL = 1e-50
"""The least nonzero weight of rules, words and labels for probability space; smaller ones need log space."""

SMALLER = 1e-75
"""The least nonzero weight of spans and split points, for which a product of all is a normal number."""


class Grammar(NamedTuple):
    """The weights of a grammar, with a first axis of groups: one if all items share it.

    Attributes:
        root: ``(groups, s)``, of root labels.
        root_tops: ``(groups,)``, the logs that were subtracted from root scores.
        rules: ``(groups, s, s + p, s + p)``, of ``[A, B, C]``.
        rule_tops: ``(groups,)``, the logs that were subtracted from rule scores.
        pairs: ``(groups, s, s s)``: the rules with two nonterminals as children, ``[A, (B, C)]``.
        words: ``(groups, s, p p)``: the rules with two words.
        beside: ``(groups, s s, p)``: ``[(A, B), c]`` of A -> B word.
        before: ``(groups, s s, p)``: ``[(A, C), c]`` of A -> word C.
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
    """Return the weights of root and rules, and a mask of the items for which some of them underflow."""
    starts, root_tops, root_underflowed = _weighed(root)
    table, rule_tops, rules_underflowed = _weighed(rules)
    underflowed = np.zeros(batch, np.bool_)
    for few in (root_underflowed, rules_underflowed):
        underflowed |= np.repeat(few, batch // len(few))
    return arranged(starts, root_tops, table, rule_tops), underflowed


def arranged(root: Array, root_tops: Array, rules: Array, rule_tops: Array) -> Grammar:
    """Return a grammar with its rules as matrices, too."""
    s = root.shape[1]
    return Grammar(
        root,
        root_tops,
        rules,
        rule_tops,
        _matrices(rules[:, :, :s, :s], s),
        _matrices(rules[:, :, s:, s:], s),
        _matrices(rules[:, :, :s, s:], s * s),
        _matrices(rules[:, :, s:, :s].swapaxes(2, 3), s * s),
    )


def _weighed(scores: Array) -> tuple[Array, Array, Array]:
    weights, tops = empty(scores.shape), empty((len(scores),))
    underflowed = np.zeros(len(scores), np.bool_)
    groups = len(scores)
    _weigh(scores.reshape(groups, -1), weights.reshape(groups, -1), tops, underflowed)
    return weights, tops, underflowed


def _matrices(block: Array, height: int) -> Array:
    """Return a block of rules as one matrix of ``height`` rows for each group."""
    result = empty(block.shape)
    result[:] = block
    return result.reshape(len(block), height, -1)


@kernel
def _weigh(scores: Array, weights: Array, tops: Array, underflowed: Array) -> None:
    """Write the weights of scores, the largest score of each group, and whether one of its weights underflows.

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
    """Write exponentials of scores minus their maximum ``top``; return True if one is below ``least``, not 0."""
    shift = top if top > -np.inf else 0.0
    for k in range(len(scores)):
        weights[k] = exp(scores[k] - shift)
    underflowed = 0
    for k in range(len(scores)):
        underflowed += int((weights[k] < least) & (scores[k] > -np.inf))
    return underflowed > 0
