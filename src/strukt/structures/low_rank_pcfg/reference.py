"""Reference of low-rank PCFGs: the inside algorithm over any semiring, in PyTorch.

A rule A -> B C is a sum over ranks R: A chooses R, and R chooses its left child B and its right child C
independently. So a span needs no labels: only, for each rank, the total over the labels it may have as a left
child, and as a right child (Yang, Liu and Tu 2022).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import NEG_INF, Semiring, precise
from strukt.structures.low_rank_pcfg.rules import composed
from strukt.structures.pcfg.reference import ORACLES, for_items, scores_by_width

COUNT = 6
"""The number of score tensors."""


def recursion(
    semiring: Semiring,
    spans: Tensor,
    root: Tensor,
    left: Tensor,
    right: Tensor,
    head: Tensor,
    emission: Tensor,
    lengths: Tensor,
) -> Tensor:
    """Return the semiring's total over all trees of a sentence and all choices of a rank for each rule.

    Args:
        semiring: The semiring to compute in; its sum must be valid over trees that differ in ranks only.
        spans: ``(..., batch, n + 1, n + 1, s + p)``, additional scores of labelled spans.
        root: ``(..., g, s)``; g divides the batch, and consecutive items share an entry, here and below.
        left: ``(..., g, r, s + p)``; ``[R, B]`` scores B as a left child.
        right: ``(..., g, r, s + p)``; ``[R, C]`` scores C as a right child.
        head: ``(..., g, s, r)``; ``[A, R]`` scores R under A.
        emission: ``(..., g, n, p)``.
        lengths: ``(batch,)``.

    Time O(n^3 r + n^2 s r + n p r), n steps one after another (Yang, Zhao and Tu 2021). A derivative stores the
    terms of all sums.
    """
    blank = torch.zeros_like(spans[..., 0, 0, 0])
    empty = semiring.one(blank)
    totals = [empty, semiring.weigh(empty, torch.full_like(blank, NEG_INF))]
    s, n = root.shape[-1], spans.shape[-2] - 1
    root, left, right, head = (
        for_items(score, axis, lengths) for score, axis in ((root, -2), (left, -3), (right, -3), (head, -3))
    )
    span_scores = scores_by_width(spans, emission, lengths, s)
    lefts, rights = [empty], [empty]  # for empty spans, which are not used
    for width in range(1, n + 1):
        labels = slice(s, None) if width == 1 else slice(s)
        if width == 1:
            inside = semiring.weigh(semiring.one(span_scores[1]), span_scores[1])
        else:
            ranks = _over_splits(semiring, lefts, rights, width)
            inside = semiring.weigh(_product(semiring, ranks, head), span_scores[width])
            totals.append(semiring.sum(semiring.weigh(inside[..., 0, :], root), -1))
        lefts.append(_product(semiring, inside, left[..., labels]))
        rights.append(_product(semiring, inside, right[..., labels]))
    chosen = semiring.stack(totals[: n + 1]).gather(-1, lengths.expand(empty.shape).unsqueeze(-1))
    return semiring.sum(chosen, -1)  # of one term: a total of weight zero has no gradient


def _product(semiring: Semiring, values: Tensor, matrix: Tensor) -> Tensor:
    """Multiply values ``(..., batch, spans, a)`` by scores ``(..., g, b, a)``: ``(..., batch, spans, b)``."""
    return semiring.sum(semiring.weigh(values.unsqueeze(-2), matrix.unsqueeze(-3)), -1)


def _over_splits(semiring: Semiring, lefts: list[Tensor], rights: list[Tensor], width: int) -> Tensor:
    """Return, for each rank, the total over all split points: ``(..., batch, n + 1 - width, r)``."""
    count = lefts[width - 1].shape[-2] - 1
    parts = range(1, width)
    left = semiring.stack([lefts[part][..., :count, :] for part in parts])
    right = semiring.stack([rights[width - part][..., part : part + count, :] for part in parts])
    return semiring.sum(semiring.times(left, right), -1)


class LowRankProgram(DynamicProgram):
    """The oracles; sums over trees use the ranks, best trees and entropies all rules."""

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        event, score = ORACLES.best(*with_rules(arguments))
        return event, score.to(arguments[0].dtype)

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        *inputs, k = arguments
        events, scores = ORACLES.kbest(*with_rules(inputs), k)
        return events, scores.to(inputs[0].dtype)

    def entropy(self, *arguments: Any) -> Tensor:
        return ORACLES.entropy(*with_rules(arguments)).to(arguments[0].dtype)

    def cross_entropy(self, scores: Scores, other: Scores, *rest: Any) -> Tensor:
        *mine, lengths = with_rules((*scores, *rest))
        *theirs, _ = with_rules((*other, *rest))
        result = ORACLES.cross_entropy(tuple(mine), tuple(theirs), lengths)
        return result.to(scores[0].dtype)


def with_rules(arguments: Any) -> tuple[Tensor, ...]:
    """Return the arguments of the oracles of a `PCFG` with the same trees, from those of a low-rank grammar.

    They are the scores of spans, root, rules and emission, in double precision, and the lengths.
    """
    spans, root, left, right, head, emission, lengths = arguments
    rules = composed(left, right, head)
    return precise(spans), precise(root), rules, precise(emission), lengths


REFERENCE = LowRankProgram(recursion, COUNT)
