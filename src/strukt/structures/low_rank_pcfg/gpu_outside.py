"""The outside pass of low-rank grammars on GPUs: some operations of PyTorch for all spans of a width."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.structures.low_rank_pcfg.gpu_chart import (
    Chart,
    Inputs,
    by_left,
    by_right,
    spans_by_end,
    spans_by_start,
)


class Outside:
    """The outside pass: the derivatives of the log-partitions, times the weight of each item.

    Args:
        work: The inputs of the inside pass.
        chart: The chart that the inside pass filled.
        weights: ``(batch,)``, the weights of items; items of weight 0 are left out and their charts ignored.
        marginals: ``(batch, n + 1, n + 1, s + p)``, where the probabilities of labels are written; None if they
            are not needed.

    Attributes:
        into: The derivatives with respect to the weights of the grammars.
        words: ``(batch, n, p)``, the expected preterminals of words.
    """

    def __init__(self, work: Inputs, chart: Chart, weights: Tensor, marginals: Tensor | None) -> None:
        self._work, self._chart, self._marginals = work, chart, marginals
        self.into = work.weights.no_gradients()
        self._heads = work.root_rank_weights()
        self._sums_of_tops = chart.tops(work.lengths)[0]
        total = (self._sums_of_tops * self._heads).sum(1)
        self._shares = torch.where((weights != 0.0) & (work.lengths > 1), weights / total, 0.0)
        n = work.n
        self._left = work.words.new_zeros(len(weights), n, n, work.weights.head.shape[-1])
        self._right = torch.zeros_like(self._left)
        self._joined = None if work.joined is None else torch.zeros_like(work.joined)
        for width in range(n, 1, -1):
            opened, sums = self._opened(width), chart.sums(width)
            through = self._through_ranks if work.joined is not None else self._through_labels
            self._to_children(width, through(width, opened, sums))
        self._end_ranks()
        self.words = self._of_words()

    def _opened(self, width: int) -> Tensor:
        """Return the derivatives of the values of a width before their division, ``(batch, m, 2 r)``."""
        n = self._work.n
        slopes = torch.cat([self._left[spans_by_start(n, width)], self._right[spans_by_end(n, width)]], -1)
        return slopes / self._chart.peak(width).unsqueeze(-1)

    def _shares_of(self, width: int) -> Tensor:
        """Return weight / total of the items whose sentence has this width, ``(batch, 1)``; 0 for other items."""
        return torch.where(self._work.lengths == width, self._shares, 0.0).unsqueeze(1)

    def _through_ranks(self, width: int, opened: Tensor, sums: Tensor) -> Tensor:
        """Return the derivatives of sums ``(batch, m, r)``, by `Weights.joined`; add to those of this matrix."""
        joined = self._work.joined
        assert joined is not None
        assert self._joined is not None
        self._work.add_outer(self._joined, sums, opened)
        result = self._work.product(opened, joined.mT)
        result[:, 0] += self._shares_of(width) * self._heads
        return result

    def _end_ranks(self) -> None:
        """Add the derivatives with respect to root, head and children to ``into``, unless `_through_labels` does.

        They come from the derivative of the joined matrix, and from the sums of whole sentences.
        """
        if self._joined is None:
            return
        whole = self._work.by_grammar(self._shares.unsqueeze(1) * self._sums_of_tops)
        self._work.weights.add_gradients_of_ranks(self.into, self._joined, whole)

    def _through_labels(self, width: int, opened: Tensor, sums: Tensor) -> Tensor:
        """Return the derivatives of sums ``(batch, m, r)`` through labels, whose marginals are written.

        The derivatives with respect to root, head and children are added to ``into``.
        """
        work, into = self._work, self.into
        span_weights = work.span_weights(width)
        labels, around = work.product(sums, work.weights.head.mT), work.product(opened, work.weights.children.mT)
        if span_weights is not None:
            labels *= span_weights[0]
        shares = self._shares_of(width)
        around[:, 0] += shares * work.by_item(work.weights.root)
        into.root.add_(work.by_grammar(shares * labels[:, 0]))
        work.add_outer(into.children, labels, opened)
        if self._marginals is not None:
            self._marginals.diagonal(width, 1, 2)[:, : labels.shape[-1]] = (labels * around).mT
        if span_weights is not None:
            around *= span_weights[0]
        work.add_outer(into.head, around, sums)
        return work.product(around, work.weights.head)

    def _to_children(self, width: int, slopes: Tensor) -> None:
        """Propagate the derivatives of the sums of a width, ``(batch, m, r)``, to the children."""
        splits, n = self._chart.splits(width), self._work.n
        slopes = splits.shares.unsqueeze(-1) * slopes.unsqueeze(-2)
        self._left[by_left(n, width)] += slopes * splits.right
        self._right[by_right(n, width)] += slopes * splits.left

    def _of_words(self) -> Tensor:
        """Return the expected preterminals of words; add derivatives to ``into.preterminals``."""
        words, _ = self._work.word_weights()
        opened = self._opened(1)
        self._work.add_outer(self.into.preterminals, words, opened)
        return self._work.product(opened, self._work.weights.preterminals.mT) * words
