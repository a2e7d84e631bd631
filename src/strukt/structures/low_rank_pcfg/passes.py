"""The inside and outside passes in rank space, with one matrix product for all spans of a width.

The values of the spans of a width are computed from the sums over their split points (by the kernels of
`cpu_splits`) through the ``joined`` matrix, or, if that is less work or spans have scores, through the
nonterminals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from strukt.kernels.jit import over_batch, thread_count
from strukt.structures.low_rank_pcfg import cpu_sample, cpu_splits
from strukt.structures.low_rank_pcfg.weights import (
    LARGE,
    Weights,
    add_outer,
    exponentials,
    grouped,
    grouped_outer,
    times,
)

CERTAIN = 1e-13
"""The largest share of a total that may have underflowed for an item to stay in probability space."""


@dataclass
class Sentences:
    """The inputs of both passes.

    Attributes:
        weights: The weights of the grammar.
        words: ``(batch, n, p)``, scores of the preterminals of each word, in double precision.
        spans: ``(batch, n + 1, n + 1, s + p)``, scores of spans, or None if they are all 0.
        lengths: ``(batch,)``; 0 for items to leave out.
        chart: ``(batch, n (n + 1) / 2, 3 r + 2)``.
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
        return self.words.shape[1]

    @property
    def rank(self) -> int:
        return self.weights.head.shape[2]

    @cached_property
    def joined(self) -> Tensor | None:
        """The matrix from ranks to ranks, if it saves work; else None."""
        groups, s, rank = self.weights.head.shape
        rows = len(self.chart) * self.n * (self.n - 1) // 2
        if self.spans is not None or 2 * rank * (rows + groups * s) > 3 * rows * s:
            return None
        return self.weights.joined

    def counts(self, width: int) -> Tensor:
        """Return the number of spans of a width in each item."""
        return (self.lengths + 1 - width).clamp(min=0)

    def firsts(self, width: int) -> tuple[Tensor, list[int]]:
        """Return the first row of each item among all spans of a width, and the end of those of each grammar."""
        ends = self.counts(width).cumsum(0)
        groups = len(self.weights.head)
        return ends - self.counts(width), ends.reshape(groups, -1)[:, -1].tolist()

    def own(self, width: int) -> tuple[Tensor, Tensor] | None:
        """Return weights ``(spans, s)`` of the labels of spans of a width, and the logs taken out."""
        if self.spans is None:
            return None
        scores = self.spans.diagonal(width, 1, 2)[:, : self.weights.root.shape[1]].mT
        within = torch.arange(scores.shape[1]) < self.counts(width).unsqueeze(1)
        some = scores[within].double()
        return exponentials(some, some.shape[1:])

    def tops(self) -> tuple[Tensor, Tensor]:
        """Return which items have two or more words, and the sums ``(items, r)`` of their whole sentences."""
        items = (self.lengths > 1).nonzero().squeeze(1)
        width = self.lengths[items]
        rows = (width - 1) * (self.n + 1) - (width - 1) * width // 2
        return items, rows

    def root_of(self, items: Tensor) -> Tensor:
        """Return the weights of the roots of some items: ``(items, s)``."""
        return self.weights.root[self.group_of(items)]

    def group_of(self, items: Tensor) -> Tensor:
        return items * len(self.weights.root) // max(len(self.chart), 1)

    def word_weights(self) -> tuple[Tensor, Tensor]:
        """Return weights ``(words, p)`` of the words within the lengths, and the logs taken out of each."""
        within = torch.arange(self.n) < self.lengths.unsqueeze(1)
        some = self.words[within]
        return exponentials(some, some.shape[1:])

    def heads_of_tops(self, items: Tensor) -> Tensor:
        """Return, for each rank, the weight of all roots above it at the whole sentence: ``(items, r)``."""
        group, root = self.group_of(items), self.root_of(items).double()
        if self.spans is not None:
            root = root * self.own_of_tops(items)
        if len(self.weights.head) == 1:
            return times(root, self.weights.head[0])
        return torch.bmm(root.unsqueeze(1), self.weights.head[group].double()).squeeze(1)

    def own_of_tops(self, items: Tensor) -> Tensor:
        """Return the weights ``(items, s)`` of the scores of whole sentences by label."""
        assert self.spans is not None
        scores = self.spans[items, 0, self.lengths[items], : self.weights.root.shape[1]].double()
        return exponentials(scores, scores.shape[1:])[0]


def inside_pass(work: Sentences) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)``, float64, and which items need log space; fill the chart."""
    chart, lengths, rank = work.chart, work.lengths, work.rank
    chart.zero_()
    slack, top_slack = chart.new_zeros(chart.shape[:2]), chart.new_zeros(len(chart))
    arrays = (chart.numpy(), slack.numpy(), lengths.numpy(), work.n)
    factors = work.weights.factors.numpy()
    for width in range(1, int(lengths.max()) + 1):
        firsts, ends = work.firsts(width)
        if width == 1:
            weights, tops = work.word_weights()
            values = grouped(weights, work.weights.words, ends)
        else:
            sums = chart.new_empty(ends[-1], rank)
            rows = (width, firsts.numpy(), sums.numpy(), top_slack.numpy())
            over_batch(cpu_splits.sum_splits, work.threads, *arrays, *rows)
            values, tops = _values(work, width, sums, ends)
            item = torch.arange(len(chart)).repeat_interleave(work.counts(width))
            tops = tops + work.weights.rule_top[work.group_of(item)]
        result = (width, firsts.numpy(), values.numpy(), tops.numpy(), factors)
        over_batch(cpu_splits.close, work.threads, *arrays, *result)
    return _totals(work, top_slack)


def _values(work: Sentences, width: int, sums: Tensor, ends: list[int]) -> tuple[Tensor, Tensor]:
    """Return the values of spans from their sums, and the logs taken out."""
    if work.joined is not None:
        return grouped(sums, work.joined, ends), sums.new_zeros(len(sums))
    labels = grouped(sums, work.weights.head.mT, ends)
    own = work.own(width)
    if own is not None:
        labels *= own[0]
    values = grouped(labels, work.weights.children, ends)
    return values, sums.new_zeros(len(sums)) if own is None else own[1]


def _totals(work: Sentences, top_slack: Tensor) -> tuple[Tensor, Tensor]:
    items, rows = work.tops()
    tops = work.chart[items, rows]
    heads = work.heads_of_tops(items)
    total = (tops[:, 2 * work.rank : 3 * work.rank] * heads).sum(1)
    error = top_slack[items] * heads.sum(1) + cpu_splits.TINY
    underflowed = torch.zeros(len(work.chart), dtype=torch.bool)
    underflowed[items] = ~(error <= CERTAIN * total)
    log = total.log() + tops[:, -2] - tops[:, -1].log() + work.weights.root_top[work.group_of(items)]
    result = torch.where(work.lengths == 0, 0.0, -torch.inf).double()
    result[items] = log
    return result, underflowed


def outside_pass(work: Sentences, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return derivatives of the log-partitions, times the weight of each item.

    Switches to weights in double precision if the derivatives need it.

    Returns:
        ``(batch, n (n + 1) / 2, 2 r)``, in the values of spans before division, and ``(items, r)``, for
        `Sentences.tops`, in the sums of the whole sentence before the weights of the roots.
    """
    chart, lengths, rank = work.chart, work.lengths, work.rank
    slopes = chart.new_zeros(*chart.shape[:2], 2 * rank)
    items, rows = work.tops()
    heads = work.heads_of_tops(items)
    totals = (chart[items, rows, 2 * rank : 3 * rank] * heads).sum(1)
    shares = weights.double()[items] / totals
    arrays = (chart.numpy(), slopes.numpy(), lengths.numpy(), work.n)
    for width in range(int(lengths.max()), 0, -1):
        firsts, ends = work.firsts(width)
        opened = chart.new_empty(ends[-1], 2 * rank)
        over_batch(cpu_splits.open_spans, work.threads, *arrays, width, firsts.numpy(), opened.numpy())
        if width > 1:
            sums = _sum_slopes(work, width, opened, ends)
            whole = lengths[items] == width
            sums[firsts[items[whole]]] += shares[whole].unsqueeze(1) * heads[whole]
            over_batch(cpu_splits.to_children, work.threads, *arrays, width, firsts.numpy(), sums.numpy())
    if slopes.numel() and max(map(abs, torch.stack(slopes.aminmax()).tolist())) > LARGE:
        work.weights = work.weights.double()
    return slopes, shares


def _sum_slopes(work: Sentences, width: int, opened: Tensor, ends: list[int]) -> Tensor:
    if work.joined is not None:
        return grouped(opened, work.joined.mT, ends)
    labels = grouped(opened, work.weights.children.mT, ends)
    own = work.own(width)
    if own is not None:
        labels *= own[0]
    return grouped(labels, work.weights.head, ends)


def word_gradients(work: Sentences, slopes: Tensor, into: Weights) -> Tensor:
    """Return expected preterminals of all words ``(batch, n, p)``; add to the derivatives in their weights."""
    within = torch.arange(work.n) < work.lengths.unsqueeze(1)
    ends = work.firsts(1)[1]
    rows = slopes[:, : work.n][within]
    weights, _ = work.word_weights()
    grouped_outer(weights, rows, ends, into.words)
    result = torch.zeros_like(work.words)
    result[within] = grouped(rows, work.weights.words.mT, ends) * weights
    return result


def rank_gradients(work: Sentences, slopes: Tensor, shares: Tensor, into: Weights) -> None:
    """Add derivatives in root, head and children through the joined matrix: one product for all spans."""
    weights, groups, kind = work.weights, len(work.weights.head), into.head.dtype
    sums = work.chart[:, :, 2 * work.rank : 3 * work.rank]
    joined = torch.stack(
        [
            rows.flatten(0, 1).mT.to(kind) @ slope.flatten(0, 1).to(kind)
            for rows, slope in zip(sums.chunk(groups), slopes.chunk(groups), strict=True)
        ]
    )
    into.head.add_(torch.bmm(weights.children, joined.mT))
    into.children.add_(torch.bmm(weights.head, joined))
    items, rows = work.tops()
    tops = (shares.unsqueeze(1) * work.chart[items, rows, 2 * work.rank : 3 * work.rank]).to(kind)
    whole = torch.zeros_like(weights.head[:, 0]).index_add_(0, work.group_of(items), tops)
    into.head.add_(weights.root.unsqueeze(2) * whole.unsqueeze(1))
    into.root.add_(torch.bmm(weights.head, whole.unsqueeze(2)).squeeze(2))


def label_gradients(
    work: Sentences, slopes: Tensor, shares: Tensor, into: Weights, marginals: Tensor | None
) -> None:
    """Add derivatives through the labels of spans, item by item, and write the probabilities of labels."""
    n, rank, s = work.n, work.rank, work.weights.root.shape[1]
    items, rows = work.tops()
    for item, row, share in zip(items.tolist(), rows.tolist(), shares.tolist(), strict=True):
        g = item * len(work.weights.head) // len(work.chart)
        starts, ends = _spans_of(n)
        within = ends <= work.lengths[item]
        starts, ends = starts[within], ends[within]
        sums = work.chart[item, n:, 2 * rank : 3 * rank][within]
        slope = slopes[item, n:][within]
        labels = times(sums, work.weights.head[g].mT)
        around = times(slope, work.weights.children[g].mT)
        top = int((within.cumsum(0)[row - n] - 1).item())
        if work.spans is not None:
            scores = work.spans[item, starts, ends, :s].double()
            own = exponentials(scores, scores.shape[1:])[0]
            labels *= own
        into.root[g] += share * labels[top]
        around[top] += share * work.weights.root[g]
        if marginals is not None:
            marginals[item, starts, ends, :s] = (labels * around).to(marginals.dtype)
        add_outer(labels, slope, into.children[g])
        if work.spans is not None:
            around *= own
        add_outer(around, sums, into.head[g])


def sentence(work: Sentences, item: int) -> cpu_sample.Sentence:
    """Return the tables for samples of one item, of the padded length; 0 in the padding."""
    n, rank, s = work.n, work.rank, work.weights.root.shape[1]
    g = item * len(work.weights.head) // len(work.chart)
    labels = times(work.chart[item, n:, 2 * rank : 3 * rank], work.weights.head[g].mT)
    starts, ends = _spans_of(n)
    within = ends <= work.lengths[item]
    if work.spans is not None:
        scores = work.spans[item, starts[within], ends[within], :s].double()
        labels[within] *= exponentials(scores, scores.shape[1:])[0]
    words = torch.zeros_like(work.words[item])
    some = work.words[item, : int(work.lengths[item])]
    words[: len(some)] = exponentials(some, some.shape[1:])[0]
    weights = work.weights
    arrays = (work.chart[item], labels, words, weights.root[g], weights.head[g], weights.symbols[g])
    return cpu_sample.Sentence(*(array.double().numpy() for array in arrays))


def _spans_of(n: int) -> tuple[Tensor, Tensor]:
    """Return first and last fenceposts of all spans of two or more words, in the order of a chart."""
    widths = torch.arange(2, n + 1)
    counts = n + 1 - widths
    wide = widths.repeat_interleave(counts)
    before = (counts.cumsum(0) - counts).repeat_interleave(counts)
    starts = torch.arange(len(wide)) - before
    return starts, starts + wide
