"""Reference in PyTorch of binary trees over spans with codes of independent bits.

A code is a choice of one of two values for each bit, so the sum over all codes of a span is a product over its
bits, and the cubic part works on spans alone (Wang and Utiyama 2024, section 3). Time O(n^3 + n^2 k) for k bits.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import NEG_INF, Semiring, log_softmax, logsumexp
from strukt.structures.bit_span_tree.codes import to_codes
from strukt.structures.span_tree import reference as span_tree
from strukt.structures.span_tree.reference import clean, total


def recursion(semiring: Semiring, positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
    """Return the semiring's total over all trees and their codes.

    Args:
        semiring: The semiring to compute in.
        positive: ``(..., batch, n + 1, n + 1, k)``, the score of the value 1 of each bit.
        negative: ``(..., batch, n + 1, n + 1, k)``, the score of the value 0 of each bit.
        lengths: ``(batch,)``.
    """
    each = [clean(scores, lengths, 1) for scores in (positive, negative)]
    ones = semiring.one(each[0])
    bits = semiring.sum(semiring.stack([semiring.weigh(ones, scores) for scores in each]), -1)
    values, *others = bits.unbind(-1)
    for other in others:
        values = semiring.times(values, other)
    return total(semiring, values, ones[..., 0], lengths)


def max_marginals(positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each bit of each span, the best score of a tree that has the span with the bit +1.

    The arguments are those of `recursion`, with one leading axis. The result has the shape of ``positive``; -inf
    for entries that are not spans within the lengths.
    """
    bits = _bits(positive, negative, lengths)
    best = bits.amax(-1)
    spans = span_tree.max_marginals(best.sum(-1), lengths, False).unsqueeze(-1)
    change = torch.where(best == NEG_INF, 0.0, bits[..., 0] - best)
    return torch.where(spans == NEG_INF, NEG_INF, spans + change)


class CodeReference(DynamicProgram):
    """A dynamic program whose parts do not determine its events: a span whose bits are all 0 uses no part."""

    def __init__(self) -> None:
        super().__init__(recursion, count=2)

    def best(self, *arguments: Tensor) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, n + 1, n + 1)`` and its score ``(batch,)``; bits of equal scores are 0."""
        positive, negative, lengths = arguments
        bits = _bits(positive, negative, lengths)
        trees, scores = span_tree.REFERENCE.best(bits.amax(-1).sum(-1), lengths, False)
        return _named(trees, to_codes(bits[..., 0] > bits[..., 1])), scores

    def kbest(self, positive: Tensor, negative: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the k best events ``(batch, k, n + 1, n + 1)`` and their scores ``(batch, k)``.

        They are those of labelled trees whose labels are the ranks of the k best codes of each span.
        """
        scores, codes = _best_codes(_bits(positive, negative, lengths), k)
        ranks, totals = span_tree.REFERENCE.kbest(scores, lengths, True, k)
        chosen = codes.unsqueeze(1).expand(-1, k, -1, -1, -1).gather(-1, ranks.clamp(min=0).unsqueeze(-1))
        return _named(ranks, chosen.squeeze(-1)), totals

    def sample(
        self, positive: Tensor, negative: Tensor, lengths: Tensor, count: int
    ) -> tuple[Tensor, Tensor]:
        """Return exact samples ``(batch, count, n + 1, n + 1)`` and the log-partition; draw trees, then bits."""
        bits = _bits(positive, negative, lengths)
        spans = logsumexp(bits, -1).sum(-1)
        trees, log_partition = span_tree.REFERENCE.sample(spans, lengths, False, count)
        probability = log_softmax(bits, -1)[..., 0].exp().unsqueeze(1)
        codes = torch.zeros_like(trees)
        for bit in range(positive.shape[-1]):
            drawn = torch.rand(trees.shape, dtype=probability.dtype, device=trees.device)
            codes = codes | (drawn < probability[..., bit]).long() << bit
        return _named(trees, codes), log_partition


def _bits(positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
    """Return the scores of both values of each bit, ``(..., n + 1, n + 1, k, 2)``, value 1 first.

    They are 0 for entries that are not spans within the lengths.
    """
    return torch.stack([clean(scores, lengths, 1) for scores in (positive, negative)], -1)


def _best_codes(bits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the scores and the codes ``(..., k)`` of the k best codes of each span, or of all if there are fewer.

    ``bits (..., bits, 2)`` holds the scores of both values of each bit, value 1 first.
    """
    scores = bits.new_zeros(*bits.shape[:-2], 1)
    codes = torch.zeros_like(scores, dtype=torch.int64)
    for bit in range(bits.shape[-2]):
        longer = torch.cat([scores + bits[..., bit, 1, None], scores + bits[..., bit, 0, None]], -1)
        both = torch.cat([codes, codes | 1 << bit], -1)
        scores, order = longer.topk(min(k, longer.shape[-1]), -1)
        codes = both.gather(-1, order)
    return scores, codes


def _named(trees: Tensor, codes: Tensor) -> Tensor:
    """Return ``codes`` in entries in which ``trees``, events of the same shape, have a span; -1 elsewhere."""
    return torch.where(trees >= 0, codes, -1)


REFERENCE = CodeReference()
