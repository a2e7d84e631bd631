"""Oracles of binary trees whose spans carry codes of independent bits, out of the oracles of trees without labels.

A code is a choice of one of two values for each bit, so that the sum over all codes of a span is a product over
its bits, and the cubic part never sees a code (Wang et al. 2024, section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.choices import expected_surprise
from strukt.kernels.inside.reference import max_marginals
from strukt.kernels.oracles import Oracles
from strukt.kernels.semiring import NEG_INF, log_softmax, logsumexp


class BitOracles:
    """The questions of `strukt.kernels.oracles.Oracles` about trees with codes.

    Args:
        trees: Oracles of trees over spans, with or without labels.

    Every method takes ``positive`` and ``negative``, the scores of the two values of each bit,
    ``(batch, n + 1, n + 1, k)``, and lengths ``(batch,)``. Time O(n^3 + n^2 k).
    """

    event_dim = 2

    def __init__(self, trees: Oracles) -> None:
        self._trees = trees
        self.reference = self
        reference: Any = CodeReference(trees.reference)
        self._codes = Oracles("codes", ("positive", "negative"), (), reference, self.event_dim)

    def sparsemap(self, main: Tensor) -> None:
        """There is no kernel that finds the structures of SparseMAP."""

    def log_partition(self, positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
        """``(batch,)``, twice differentiable."""
        return self._codes.log_partition(positive, negative, lengths)

    def inside(self, positive: Tensor, negative: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The log-partition ``(batch,)`` and the chart that `outside` goes on from; no derivatives."""
        return self._codes.inside(positive, negative, lengths)

    def outside(
        self, positive: Tensor, negative: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
    ) -> Tensor | Scores:
        """The marginals times weights ``(batch,)``; no derivatives."""
        return self._codes.outside(positive, negative, lengths, weights, chart)

    def marginals(self, positive: Tensor, negative: Tensor, lengths: Tensor) -> Scores:
        """The probability of each value of each bit; differentiable."""
        return self._codes.marginals(positive, negative, lengths)

    def entropy(self, positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
        """``(batch,)`` in nats: that of the tree, and of the bits of its spans."""
        return self._surprise(
            self._trees.entropy, (positive, negative), (positive, negative), lengths
        )

    def cross_entropy(self, scores: Scores, other: Scores, lengths: Tensor) -> Tensor:
        """``(batch,)`` in nats: -E[log q] of the distribution q of ``other`` under that of ``scores``."""

        def of_trees(spans: Tensor, *rest: Tensor | bool) -> Tensor:
            others = _codes_summed(other[0], other[1], lengths)
            return self._trees.cross_entropy((spans,), (others,), *rest)

        return self._surprise(of_trees, scores, other, lengths)

    def best(self, positive: Tensor, negative: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """A best event ``(batch, n + 1, n + 1)`` and its score; of equal values of a bit the negative one."""
        bits = _bits(positive, negative, lengths)
        trees, scores = self._trees.best(bits.amax(-1).sum(-1), lengths, False)
        return _named(trees, _code(bits[..., 0] > bits[..., 1])), scores

    def kbest(self, positive: Tensor, negative: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k best events ``(batch, k, n + 1, n + 1)`` and their scores."""
        return self._codes.kbest(positive, negative, lengths, k)

    def sample(
        self, positive: Tensor, negative: Tensor, lengths: Tensor, count: int
    ) -> tuple[Tensor, Tensor]:
        """Exact samples ``(batch, count, n + 1, n + 1)``, and the log-partition."""
        return self._codes.sample(positive, negative, lengths, count)

    def max_marginals(self, positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
        """For each bit the best score of a tree in which it is positive."""
        bits = _bits(positive, negative, lengths)
        best = bits.amax(-1)
        spans = max_marginals(best.sum(-1), lengths, False).unsqueeze(-1)
        change = torch.where(best == NEG_INF, 0.0, bits[..., 0] - best)
        return torch.where(spans == NEG_INF, NEG_INF, spans + change)

    def _surprise(
        self, of_trees: Callable[..., Tensor], scores: Scores, other: Scores, lengths: Tensor
    ) -> Tensor:
        """-E[log] of the trees as ``of_trees`` says, and of the bits of ``other``, under ``scores``."""
        bits = _bits(scores[0], scores[1], lengths)
        spans = logsumexp(bits, -1).sum(-1)
        (used,) = self._trees.marginals(spans, lengths, False)
        log_p, log_q = log_softmax(bits, -1), log_softmax(_bits(other[0], other[1], lengths), -1)
        return of_trees(spans, lengths, False) + expected_surprise(used, log_p, log_q)


class CodeReference:
    """The log-partition, the k best events and samples in PyTorch, by the reference of trees over spans."""

    def __init__(self, trees: Any) -> None:
        self._trees = trees

    def log_partition(self, positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
        """``(batch,)``, differentiable any number of times."""
        summed: Tensor = self._trees.log_partition(_codes_summed(positive, negative, lengths), lengths, False)
        return summed

    def kbest(self, positive: Tensor, negative: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k best events and their scores: they use no more than the k best codes of each span."""
        scores, codes = _best_codes(_bits(positive, negative, lengths), k)
        ranks, totals = self._trees.kbest(scores, lengths, True, k)
        chosen = codes.unsqueeze(1).expand(-1, k, -1, -1, -1).gather(-1, ranks.clamp(min=0).unsqueeze(-1))
        return _named(ranks, chosen.squeeze(-1)), totals

    def sample(
        self, positive: Tensor, negative: Tensor, lengths: Tensor, count: int
    ) -> tuple[Tensor, Tensor]:
        """Exact samples ``(batch, count, n + 1, n + 1)``, and the log-partition: trees first, then their bits."""
        bits = _bits(positive, negative, lengths)
        trees, log_partition = self._trees.sample(logsumexp(bits, -1).sum(-1), lengths, False, count)
        probability = log_softmax(bits, -1)[..., 0].exp().unsqueeze(1)
        codes = torch.zeros_like(trees)
        for bit in range(positive.shape[-1]):
            drawn = torch.rand(trees.shape, dtype=probability.dtype, device=trees.device)
            codes = codes | (drawn < probability[..., bit]).long() << bit
        return _named(trees, codes), log_partition


def _bits(positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
    """The scores of both values of each bit, positive first, on a last axis; 0 for all but spans."""
    ends = torch.arange(positive.shape[1], device=positive.device)
    spans = ((ends[:, None] < ends) & (ends <= lengths[:, None, None])).unsqueeze(-1)
    # Chosen before they are stacked, so that gradients are tensors of their own, as results of operators must be.
    return torch.stack([torch.where(spans, scores, 0.0) for scores in (positive, negative)], -1)


def _codes_summed(positive: Tensor, negative: Tensor, lengths: Tensor) -> Tensor:
    """The log of the summed weights of all codes of each span."""
    return logsumexp(_bits(positive, negative, lengths), -1).sum(-1)


def _best_codes(bits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best codes of each span, or all if there are fewer: scores and codes ``(..., k)``."""
    scores = bits.new_zeros(*bits.shape[:-2], 1)
    codes = torch.zeros_like(scores, dtype=torch.int64)
    for bit in range(bits.shape[-2]):
        longer = torch.cat([scores + bits[..., bit, 1, None], scores + bits[..., bit, 0, None]], -1)
        both = torch.cat([codes, codes | 1 << bit], -1)
        scores, order = longer.topk(min(k, longer.shape[-1]), -1)
        codes = both.gather(-1, order)
    return scores, codes


def _code(positive: Tensor) -> Tensor:
    """Codes from their bits on the last axis, the first bit the lowest."""
    weights = 2 ** torch.arange(positive.shape[-1], device=positive.device)
    return (positive.long() * weights).sum(-1)


def _named(trees: Tensor, codes: Tensor) -> Tensor:
    """The codes of the spans of a tree, -1 elsewhere."""
    return torch.where(trees >= 0, codes, -1)
