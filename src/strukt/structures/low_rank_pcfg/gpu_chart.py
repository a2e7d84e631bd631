"""The inputs and the chart of low-rank grammars on GPUs, with space for n spans of each width in each item.

Left children are found by their first fencepost and width; right children by their last fencepost, narrow ones
last. So the children of all spans of a width, at all split points, are slices, without an index.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.gradients import group_sums
from strukt.structures.low_rank_pcfg.weights import Weights, exponentials, saves_work


class Splits(NamedTuple):
    """The children of the m spans of a width at their split points, by the width of the left one.

    Attributes:
        left: ``(batch, m, width - 1, r)``, the values of left children.
        right: ``(batch, m, width - 1, r)``, the values of right children.
        shares: ``(batch, m, width - 1)``, the weights of the split points relative to the largest.
        top: ``(batch, m)``, the log-scale divided out of these weights.
    """

    left: Tensor
    right: Tensor
    shares: Tensor
    top: Tensor


class Chart:
    """Values and sums of all spans of a batch, views of one memory in float64.

    Args:
        memory: ``(batch, 1 + n n (3 r + 3))``. The first number of an item is 1 if it was computed in log space.
            The cells of spans follow, ``(n, n, 3 r + 3)``: r values as left children, r values as right children,
            r sums, the log-scales of the two kinds of values, and the last divisor. The values as right children
            and their log-scale are stored by last fencepost, the other numbers by first fencepost.
        n: The number of words.
        rank: The number of ranks r.
    """

    def __init__(self, memory: Tensor, n: int, rank: int) -> None:
        cells = memory[:, 1:].view(len(memory), n, n, 3 * rank + 3)
        self._n = n
        self._left, self._right, self._sums = (cells[..., k * rank : (k + 1) * rank] for k in range(3))
        self._left_scale, self._right_scale, self._peak = cells[..., 3 * rank :].unbind(-1)

    @staticmethod
    def shape(batch: int, n: int, rank: int) -> tuple[int, int]:
        """Return the shape of a chart's memory: ``(batch, 1 + n n (3 r + 3))``."""
        return batch, 1 + n * n * (3 * rank + 3)

    def splits(self, width: int) -> Splits:
        """Return the children of all spans of a width, which is at least 2."""
        left, right = by_left(self._n, width), by_right(self._n, width)
        scales = self._left_scale[left] + self._right_scale[right]
        top = scales.amax(-1)
        return Splits(self._left[left], self._right[right], (scales - top.unsqueeze(-1)).exp(), top)

    def write(self, width: int, values: Tensor, scale: Tensor, peak: Tensor) -> None:
        """Write the values ``(batch, m, 2 r)`` of a width, already divided by ``peak``, and their log-scale.

        ``scale`` and ``peak`` are ``(batch, m)``.
        """
        left, right = values.chunk(2, -1)
        starts, ends = spans_by_start(self._n, width), spans_by_end(self._n, width)
        self._left[starts], self._right[ends] = left, right
        self._left_scale[starts], self._right_scale[ends] = scale, scale
        self._peak[starts] = peak

    def write_sums(self, width: int, sums: Tensor) -> None:
        """Write the sums over split points, ``(batch, m, r)``."""
        self._sums[spans_by_start(self._n, width)] = sums

    def sums(self, width: int) -> Tensor:
        """Return the sums over the split points of the spans of a width, ``(batch, m, r)``."""
        return self._sums[spans_by_start(self._n, width)]

    def peak(self, width: int) -> Tensor:
        """Return the numbers by which the values of a width were divided, ``(batch, m)``."""
        return self._peak[spans_by_start(self._n, width)]

    @property
    def largest_scale(self) -> Tensor:
        """The largest log-scale of the values of any span, ``(batch,)``; unused cells count as 0."""
        return self._left_scale.flatten(1).amax(1)

    def tops(self, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the sums ``(batch, r)`` of whole sentences, and the log-scale and last divisor of the values."""
        items, column = torch.arange(len(lengths), device=lengths.device), (lengths - 1).clamp(min=0)
        sums, scale, peak = (part[items, 0, column] for part in (self._sums, self._left_scale, self._peak))
        return sums, scale, peak


Place = tuple[slice, slice, slice | int]
"""An index of spans in an array ``(batch, n, n, ...)``, by item, fencepost and width."""


def spans_by_start(n: int, width: int) -> Place:
    """Return the index of the spans of a width in the values stored by first fencepost."""
    return slice(None), slice(n + 1 - width), width - 1


def spans_by_end(n: int, width: int) -> Place:
    """Return the index of the spans of a width in the values stored by last fencepost."""
    return slice(None), slice(width - 1, n), n - width


def by_left(n: int, width: int) -> Place:
    """Return the index of the left children of the spans of a width, narrowest first."""
    return slice(None), slice(n + 1 - width), slice(width - 1)


def by_right(n: int, width: int) -> Place:
    """Return the index of the right children of the spans of a width, widest first."""
    return slice(None), slice(width - 1, n), slice(n + 1 - width, n)


@dataclass
class Inputs:
    """The inputs of both passes, in float64 except for spans: n words, s nonterminals, p preterminals, r ranks.

    Attributes:
        weights: The weights of g grammars; g divides the batch, and consecutive items share one.
        words: ``(batch, n, p)``, the scores of the preterminals of each word.
        spans: ``(batch, n + 1, n + 1, s + p)``, scores of spans, or None if they are all 0.
        lengths: ``(batch,)``.
    """

    weights: Weights
    words: Tensor
    spans: Tensor | None
    lengths: Tensor

    @property
    def n(self) -> int:
        """The number of words, including padding."""
        return self.words.shape[1]

    @property
    def groups(self) -> int:
        """The number of grammars, g."""
        return len(self.weights.head)

    @cached_property
    def joined(self) -> Tensor | None:
        """The matrix `Weights.joined` if products with it are less work than through labels, else None."""
        rows = len(self.words) * self.n * (self.n - 1) // 2
        return self.weights.joined if self.spans is None and saves_work(rows, self.weights) else None

    def word_weights(self) -> tuple[Tensor, Tensor]:
        """Return the weights ``(batch, n, p)`` of words, 0 in the padding, and the log-scale of each."""
        words = self.words
        if self.spans is not None:
            of_spans = self.spans.diagonal(1, 1, 2)[:, self.weights.root.shape[1] :].mT
            words = words + of_spans.double()
        return exponentials(self._inside(words, 1))

    def span_weights(self, width: int) -> tuple[Tensor, Tensor] | None:
        """Return the weights of labels of the m spans of a width, ``(batch, m, s)``, and their log-scales."""
        if self.spans is None:
            return None
        scores = self.spans.diagonal(width, 1, 2)[:, : self.weights.root.shape[1]].mT
        return exponentials(self._inside(scores.double(), width))

    def top_weights(self) -> Tensor | None:
        """Return the weights of the labels of whole sentences, ``(batch, s)``, relative to the largest."""
        if self.spans is None:
            return None
        items = torch.arange(len(self.lengths), device=self.lengths.device)
        scores = self.spans[items, 0, self.lengths, : self.weights.root.shape[1]]
        return exponentials(scores.double().masked_fill(self.lengths.unsqueeze(1) < 2, -torch.inf))[0]

    def by_item(self, each: Tensor) -> Tensor:
        """Repeat a tensor ``(g, ...)`` of the grammars for each item: ``(batch, ...)``."""
        return each.repeat_interleave(len(self.words) // self.groups, 0) if self.groups > 1 else each

    def root_rank_weights(self) -> Tensor:
        """Return the weight of each rank at the top of the sentence, summed over root labels: ``(batch, r)``."""
        root, top_weights = self.by_item(self.weights.root), self.top_weights()
        root = root.expand(len(self.words), -1) if top_weights is None else root * top_weights
        return self.product(root.unsqueeze(1), self.weights.head).squeeze(1)

    def product(self, rows: Tensor, matrices: Tensor) -> Tensor:
        """Return rows ``(batch, m, a)`` times the matrices ``(g, a, b)`` of their grammars: ``(batch, m, b)``."""
        result = rows.reshape(self.groups, -1, rows.shape[-1]) @ matrices
        return result.view(*rows.shape[:-1], matrices.shape[-1])

    def add_outer(self, total: Tensor, rows: Tensor, others: Tensor) -> None:
        """Add the products of rows ``(batch, m, a)`` and others ``(batch, m, b)`` to ``total (g, a, b)``."""
        left, right = (each.reshape(self.groups, -1, each.shape[-1]) for each in (rows, others))
        total.add_(left.mT @ right)

    def by_grammar(self, each: Tensor) -> Tensor:
        """Return the sums of a tensor ``(batch, ...)`` over the items of each grammar: ``(g, ...)``."""
        return group_sums(each, self.groups)

    def _inside(self, scores: Tensor, width: int) -> Tensor:
        """Return scores ``(batch, m, ...)`` of the spans of a width; -inf beyond the lengths."""
        ends = torch.arange(width, self.n + 1, device=self.lengths.device)
        return scores.masked_fill((ends > self.lengths.unsqueeze(1)).unsqueeze(-1), -torch.inf)
