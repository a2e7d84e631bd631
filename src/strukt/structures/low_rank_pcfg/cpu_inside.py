"""The inside pass of low-rank grammars in rank space, with one matrix product for all spans of a width.

The values of the spans of a width are computed from the sums over their split points (by the kernels of
`cpu_splits`) through the ``joined`` matrix, or, if that is less work or spans have scores, through the
nonterminals.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.jit import over_batch
from strukt.structures.low_rank_pcfg import cpu_splits
from strukt.structures.low_rank_pcfg.cpu_sentences import Sentences
from strukt.structures.low_rank_pcfg.weights import grouped

CERTAIN = 1e-13
"""The largest share of a total that may underflow before an item is computed in log space."""


def inside_pass(work: Sentences) -> tuple[Tensor, Tensor]:
    """Fill the chart; return the log-partition ``(batch,)``, float64, and a mask of items that need log space."""
    chart, lengths, rank = work.chart, work.lengths, work.rank
    chart.zero_()
    slack, top_slack = chart.new_zeros(chart.shape[:2]), chart.new_zeros(len(chart))
    arrays = (chart.numpy(), slack.numpy(), lengths.numpy(), work.n)
    factors = work.weights.factors.numpy()
    for width in range(1, int(lengths.max()) + 1):
        firsts, ends = work.firsts(width)
        if width == 1:
            weights, tops = work.word_weights()
            values = grouped(weights, work.weights.preterminals, ends)
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
    """Return the values ``(m, 2 r)`` of m spans from their sums ``(m, r)``, and their log-scales ``(m,)``."""
    if work.joined is not None:
        return grouped(sums, work.joined, ends), sums.new_zeros(len(sums))
    labels = grouped(sums, work.weights.head.mT, ends)
    span_weights = work.span_weights(width)
    if span_weights is not None:
        labels *= span_weights[0]
    values = grouped(labels, work.weights.children, ends)
    return values, sums.new_zeros(len(sums)) if span_weights is None else span_weights[1]


def _totals(work: Sentences, top_slack: Tensor) -> tuple[Tensor, Tensor]:
    """Return the results of `inside_pass` from the filled chart.

    ``top_slack (batch,)`` bounds the error of the sums over the split points of whole sentences.
    """
    items, rows = work.tops()
    tops = work.chart[items, rows]
    heads = work.root_rank_weights(items)
    total = (tops[:, 2 * work.rank : 3 * work.rank] * heads).sum(1)
    error = top_slack[items] * heads.sum(1) + cpu_splits.TINY
    underflowed = torch.zeros(len(work.chart), dtype=torch.bool)
    underflowed[items] = ~(error <= CERTAIN * total)
    log = total.log() + tops[:, -2] - tops[:, -1].log() + work.weights.root_top[work.group_of(items)]
    result = torch.where(work.lengths == 0, 0.0, -torch.inf).double()
    result[items] = log
    return result, underflowed
