"""The inputs of the inside and outside passes of low-rank grammars: weights, words, spans and chart of a batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from strukt.kernels.jit import thread_count
from strukt.structures.low_rank_pcfg import cpu_sample
from strukt.structures.low_rank_pcfg.weights import Weights, exponentials, saves_work, times


@dataclass
class Sentences:
    """The inputs of both passes over a batch, for n words, s nonterminals, p preterminals and r ranks.

    Attributes:
        weights: The weights of the grammar.
        words: ``(batch, n, p)``, scores of the preterminals of each word, in double precision.
        spans: ``(batch, n + 1, n + 1, s + p)``, scores of spans, or None if they are all 0.
        lengths: ``(batch,)``; items of length 0 are left out.
        chart: ``(batch, n (n + 1) / 2, 3 r + 2)``; see `cpu_splits`.
        threads: The number of threads for a pass.
    """

    weights: Weights
    words: Tensor
    spans: Tensor | None
    lengths: Tensor
    chart: Tensor
    threads: int = field(init=False)

    def __post_init__(self) -> None:
        self.lengths = self.lengths.contiguous()
        batch, rows, columns = self.chart.shape
        self.threads = thread_count(batch, batch * rows * self.n * columns)

    @property
    def n(self) -> int:
        """The number of words, including padding."""
        return self.words.shape[1]

    @property
    def rank(self) -> int:
        """The number of ranks, r."""
        return self.weights.head.shape[2]

    @cached_property
    def joined(self) -> Tensor | None:
        """The matrix `Weights.joined` if products with it are less work than through labels, else None."""
        rows = len(self.chart) * self.n * (self.n - 1) // 2
        return self.weights.joined if self.spans is None and saves_work(rows, self.weights) else None

    def counts(self, width: int) -> Tensor:
        """Return the number of spans of a width in each item, ``(batch,)``."""
        return (self.lengths + 1 - width).clamp(min=0)

    def firsts(self, width: int) -> tuple[Tensor, list[int]]:
        """Return the first row of each item in a table of all spans of a width, ``(batch,)``.

        Also return the row after the last of each grammar.
        """
        ends = self.counts(width).cumsum(0)
        groups = len(self.weights.head)
        return ends - self.counts(width), ends.reshape(groups, -1)[:, -1].tolist()

    def span_weights(self, width: int) -> tuple[Tensor, Tensor] | None:
        """Return exponentiated label scores of a width's spans, ``(spans, s)``, and the log-scales divided out.

        Return None if spans have no scores.
        """
        if self.spans is None:
            return None
        scores = self.spans.diagonal(width, 1, 2)[:, : self.weights.root.shape[1]].mT
        within = torch.arange(scores.shape[1]) < self.counts(width).unsqueeze(1)
        some = scores[within].double()
        return exponentials(some)

    def tops(self) -> tuple[Tensor, Tensor]:
        """Return the items of two or more words, and the chart row of each whole sentence: ``(items,)`` both."""
        items = (self.lengths > 1).nonzero().squeeze(1)
        width = self.lengths[items]
        rows = (width - 1) * (self.n + 1) - (width - 1) * width // 2
        return items, rows

    def group_of(self, items: Tensor) -> Tensor:
        """Return the index of the grammar of each of ``items (m,)``: ``(m,)``."""
        return items * len(self.weights.root) // max(len(self.chart), 1)

    def word_weights(self) -> tuple[Tensor, Tensor]:
        """Return weights ``(words, p)`` of the words within the lengths, and the log of the scale of each."""
        within = torch.arange(self.n) < self.lengths.unsqueeze(1)
        some = self.words[within]
        return exponentials(some)

    def root_rank_weights(self, items: Tensor) -> Tensor:
        """Return the weight of each rank under the root, summed over the root's labels: ``(items, r)``."""
        group = self.group_of(items)
        root = self.weights.root[group].double()
        if self.spans is not None:
            root = root * self.top_weights(items)
        if len(self.weights.head) == 1:
            return times(root, self.weights.head[0])
        return torch.bmm(root.unsqueeze(1), self.weights.head[group].double()).squeeze(1)

    def top_weights(self, items: Tensor) -> Tensor:
        """Return the exponentiated scores of whole sentences by label, ``(items, s)``, relative to the largest."""
        assert self.spans is not None
        scores = self.spans[items, 0, self.lengths[items], : self.weights.root.shape[1]].double()
        return exponentials(scores)[0]


def sentence(work: Sentences, item: int) -> cpu_sample.Sentence:
    """Return the tables from which samples of item number ``item`` are drawn, in float64.

    They have the padded length n, and are 0 in the padding.
    """
    n, rank, s = work.n, work.rank, work.weights.root.shape[1]
    g = item * len(work.weights.head) // len(work.chart)
    labels = times(work.chart[item, n:, 2 * rank : 3 * rank], work.weights.head[g].mT)
    starts, ends = spans_of(n)
    within = ends <= work.lengths[item]
    if work.spans is not None:
        scores = work.spans[item, starts[within], ends[within], :s].double()
        labels[within] *= exponentials(scores)[0]
    words = torch.zeros_like(work.words[item])
    some = work.words[item, : int(work.lengths[item])]
    words[: len(some)] = exponentials(some)[0]
    weights = work.weights
    arrays = (work.chart[item], labels, words, weights.root[g], weights.head[g], weights.symbols[g])
    return cpu_sample.Sentence(*(array.double().numpy() for array in arrays))


def spans_of(n: int) -> tuple[Tensor, Tensor]:
    """Return first and last fenceposts of all spans of two or more words, in the order of a chart."""
    widths = torch.arange(2, n + 1)
    counts = n + 1 - widths
    wide = widths.repeat_interleave(counts)
    before = (counts.cumsum(0) - counts).repeat_interleave(counts)
    starts = torch.arange(len(wide)) - before
    return starts, starts + wide
