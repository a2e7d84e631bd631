"""Reference of PCFGs: the inside algorithm over any semiring, in PyTorch.

Spans are processed from narrow to wide; all spans of one width are computed at once. If both children are
nonterminals, sums over split points are computed first, one for each pair of labels, and then sums over the rules.
If one child is a word, the rules are summed with this word once for each position, which leaves a matrix between
nonterminals.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.semiring import NEG_INF, Semiring


@dataclass(frozen=True)
class Grammar:
    """The scores of rules, split by which children are words; g is 1 or the batch.

    Attributes:
        pairs: ``(..., g, s, s, s)``, the rules with two nonterminals as children, ``[A, B, C]``.
        beside: ``(..., g, s, s + p, p)``, the rules whose right child is a word, ``[A, B, c]``.
        before: ``(..., g, s, p, s)``, the rules whose left child is a word and whose right child is not,
            ``[A, c, C]``.
    """

    pairs: Tensor
    beside: Tensor
    before: Tensor


@dataclass(frozen=True)
class Chart:
    """The totals over trees. Lists have one entry for each width of a span.

    Attributes:
        span_scores: A list of the scores of the spans themselves, ``(..., batch, n + 1 - width, s)``; for words,
            including emissions, ``(..., batch, n, p)``. The entry of width 0 is unused.
        inside: A list of the totals over the trees of each span with each label, in the same shapes.
        beside: ``(..., batch, n, s, s + p)``, for each word the total over the rules A -> B word, ``[A, B]``.
        before: ``(..., batch, n, s, s)``, for each word the total over the rules A -> word C, ``[A, C]``.
    """

    span_scores: list[Tensor]
    inside: list[Tensor]
    beside: Tensor
    before: Tensor


def recursion(
    semiring: Semiring, spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> Tensor:
    """Return the semiring's total over all trees that a grammar derives for a sentence.

    Args:
        semiring: The semiring to compute in.
        spans: ``(..., batch, n + 1, n + 1, s + p)``, extra scores of labelled spans.
        root: ``(..., g, s)``; g divides the batch, and consecutive items share an entry, here and below.
        rules: ``(..., g, s, s + p, s + p)``; ``[A, B, C]`` scores the rule A -> B C.
        emission: ``(..., g, n, p)``.
        lengths: ``(batch,)``.

    Time O(n^3 s^2 + n^2 s^3 + n s p (s + p)), n steps one after another (Baker 1979; Lari and Young 1990).
    """
    blank = torch.zeros_like(spans[..., 0, 0, 0])
    empty = semiring.one(blank)
    never = semiring.weigh(empty, torch.full_like(blank, NEG_INF))
    root = for_items(root, -2, lengths)
    chart = fill(semiring, spans, grammar_of(rules, lengths), emission, lengths)
    tops = [semiring.sum(semiring.weigh(values[..., 0, :], root), -1) for values in chart.inside[2:]]
    totals = semiring.stack([empty, never, *tops][: spans.shape[-2]])
    chosen = totals.gather(-1, lengths.expand(totals.shape[:-1]).unsqueeze(-1))
    return semiring.sum(chosen, -1)  # a sum of one term, so that a total of weight zero has no gradient


def for_items(scores: Tensor, axis: int, lengths: Tensor) -> Tensor:
    """Return scores with one entry on ``axis`` for each item; scores that all items share are unchanged."""
    groups = scores.shape[axis]
    return scores if groups == 1 else scores.repeat_interleave(len(lengths) // max(groups, 1), axis)


def grammar_of(rules: Tensor, lengths: Tensor) -> Grammar:
    """Split rules ``(..., g, s, s + p, s + p)`` by which children are words, for ``len(lengths)`` items."""
    rules, s = for_items(rules, -4, lengths), rules.shape[-3]
    return Grammar(rules[..., :s, :s], rules[..., s:], rules[..., s:, :s])


def scores_by_width(spans: Tensor, emission: Tensor, lengths: Tensor, s: int) -> list[Tensor]:
    """Return a list of the scores of the spans of each width, 0 in the padding."""
    n = spans.shape[-2] - 1
    ends = torch.arange(n + 1, device=spans.device)
    result = [spans[..., 0, :0, :]]
    for width in range(1, n + 1):
        scores = spans.diagonal(width, -3, -2).mT
        scores = scores[..., s:] + for_items(emission, -3, lengths) if width == 1 else scores[..., :s]
        result.append(scores.masked_fill((ends[width:] > lengths[:, None]).unsqueeze(-1), 0.0))
    return result


def fill(semiring: Semiring, spans: Tensor, grammar: Grammar, emission: Tensor, lengths: Tensor) -> Chart:
    """Run the inside algorithm and return its chart; the arguments are those of `recursion`."""
    n, s = spans.shape[-2] - 1, grammar.pairs.shape[-3]
    span_scores = scores_by_width(spans, emission, lengths, s)
    inside = [semiring.weigh(semiring.one(scores), scores) for scores in span_scores[:2]]
    words = inside[-1] if n else semiring.one(spans[..., 0, :0, s:])
    beside = semiring.weigh(words[..., None, None, :], grammar.beside.unsqueeze(-4))
    before = semiring.weigh(words[..., None, :, None], grammar.before.unsqueeze(-4))
    chart = Chart(span_scores, inside, semiring.sum(beside, -1), semiring.sum(before, -2))
    for width in range(2, n + 1):
        total = semiring.sum(semiring.stack(_ways(semiring, grammar, chart, width)), -1)
        inside.append(semiring.weigh(total, span_scores[width]))
    return chart


def _ways(semiring: Semiring, grammar: Grammar, chart: Chart, width: int) -> list[Tensor]:
    """Return the totals over the children of all spans of a width, as a list to be summed.

    The entries are ``(..., batch, n + 1 - width, s)``. The first is for right children that are words, the second
    for left children that are words beside a wider child, the third for two children of several words.
    """
    s, count = grammar.pairs.shape[-3], chart.span_scores[width].shape[-2]
    narrower = chart.inside[width - 1]
    beside = chart.beside[..., width - 1 :, :, s:] if width == 2 else chart.beside[..., width - 1 :, :, :s]
    ways = [semiring.sum(semiring.times(beside, narrower[..., :count, None, :]), -1)]
    if width > 2:
        before = chart.before[..., :count, :, :]
        ways.append(semiring.sum(semiring.times(before, narrower[..., 1:, None, :]), -1))
    if width > 3:
        pairs = _pairs_of_children(semiring, chart.inside, width).flatten(-2).unsqueeze(-2)
        rules = grammar.pairs.flatten(-2).unsqueeze(-3)
        ways.append(semiring.sum(semiring.weigh(pairs, rules), -1))
    return ways


def _pairs_of_children(semiring: Semiring, inside: list[Tensor], width: int) -> Tensor:
    """Return the total over split points for each pair of nonterminals: ``(..., batch, n + 1 - width, s, s)``."""
    count = inside[width - 1].shape[-2] - 1
    parts = range(2, width - 1)
    left = semiring.stack([inside[part][..., :count, :] for part in parts])
    right = semiring.stack([inside[width - part][..., part : part + count, :] for part in parts])
    return semiring.sum(semiring.times(left.unsqueeze(-2), right.unsqueeze(-3)), -1)


REFERENCE = DynamicProgram(recursion, count=4)

ORACLES = TableOracles(
    __package__,
    scores=("spans", "root", "rules", "emission"),
    options=(),
    reference=REFERENCE,
    event_dim=2,
)
