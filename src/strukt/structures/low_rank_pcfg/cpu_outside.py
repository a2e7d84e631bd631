"""The outside pass of low-rank grammars in rank space, and the gradients of words, ranks and labels."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.jit import over_batch
from strukt.structures.low_rank_pcfg import cpu_splits
from strukt.structures.low_rank_pcfg.cpu_sentences import Sentences, spans_of
from strukt.structures.low_rank_pcfg.weights import (
    LARGE,
    Weights,
    add_outer,
    exponentials,
    grouped,
    grouped_outer,
    times,
)


def outside_pass(work: Sentences, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return derivatives of the log-partitions, times ``weights (batch,)``.

    If they are too large for single precision, also convert the weights of the grammar in ``work`` to double.

    Returns:
        The derivatives with respect to the values of spans before division, ``(batch, n (n + 1) / 2, 2 r)``; and
        for the items of `Sentences.tops` their weight divided by their total, ``(items,)``.
    """
    chart, lengths, rank = work.chart, work.lengths, work.rank
    slopes = chart.new_zeros(*chart.shape[:2], 2 * rank)
    items, rows = work.tops()
    heads = work.root_rank_weights(items)
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
    """Return the derivatives for the sums of m spans, ``(m, r)``, from those for their values, ``(m, 2 r)``."""
    if work.joined is not None:
        return grouped(opened, work.joined.mT, ends)
    labels = grouped(opened, work.weights.children.mT, ends)
    span_weights = work.span_weights(width)
    if span_weights is not None:
        labels *= span_weights[0]
    return grouped(labels, work.weights.head, ends)


def word_gradients(work: Sentences, slopes: Tensor, into: Weights) -> Tensor:
    """Return expected preterminals of all words, ``(batch, n, p)``; add derivatives to ``into.preterminals``."""
    within = torch.arange(work.n) < work.lengths.unsqueeze(1)
    ends = work.firsts(1)[1]
    rows = slopes[:, : work.n][within]
    weights, _ = work.word_weights()
    grouped_outer(weights, rows, ends, into.preterminals)
    result = torch.zeros_like(work.words)
    result[within] = grouped(rows, work.weights.preterminals.mT, ends) * weights
    return result


def rank_gradients(work: Sentences, slopes: Tensor, shares: Tensor, into: Weights) -> None:
    """Add the derivatives with respect to root, head and children to ``into``, without sums for labels of spans.

    They come from the derivative with respect to `Weights.joined`, one product for all spans, and from the sums of
    whole sentences. ``slopes`` and ``shares`` are the results of `outside_pass`.
    """
    groups, kind = len(work.weights.head), into.head.dtype
    sums = work.chart[:, :, 2 * work.rank : 3 * work.rank]
    joined = torch.stack(
        [
            rows.flatten(0, 1).mT.to(kind) @ slope.flatten(0, 1).to(kind)
            for rows, slope in zip(sums.chunk(groups), slopes.chunk(groups), strict=True)
        ]
    )
    items, rows = work.tops()
    tops = (shares.unsqueeze(1) * work.chart[items, rows, 2 * work.rank : 3 * work.rank]).to(kind)
    whole = torch.zeros_like(into.head[:, 0]).index_add_(0, work.group_of(items), tops)
    work.weights.add_gradients_of_ranks(into, joined, whole)


def label_gradients(
    work: Sentences, slopes: Tensor, shares: Tensor, into: Weights, marginals: Tensor | None
) -> None:
    """Add the derivatives with respect to root, head and children to ``into``, through labels of spans, by item.

    The probabilities of these labels, times the item's weight, are written to ``marginals (batch, n + 1, n + 1,
    s + p)`` unless it is None. ``slopes`` and ``shares`` are the results of `outside_pass`.
    """
    n, rank, s = work.n, work.rank, work.weights.root.shape[1]
    items, rows = work.tops()
    for item, row, share in zip(items.tolist(), rows.tolist(), shares.tolist(), strict=True):
        g = item * len(work.weights.head) // len(work.chart)
        starts, ends = spans_of(n)
        within = ends <= work.lengths[item]
        starts, ends = starts[within], ends[within]
        sums = work.chart[item, n:, 2 * rank : 3 * rank][within]
        slope = slopes[item, n:][within]
        labels = times(sums, work.weights.head[g].mT)
        around = times(slope, work.weights.children[g].mT)
        top = int((within.cumsum(0)[row - n] - 1).item())
        if work.spans is not None:
            scores = work.spans[item, starts, ends, :s].double()
            span_weights = exponentials(scores)[0]
            labels *= span_weights
        into.root[g] += share * labels[top]
        around[top] += share * work.weights.root[g]
        if marginals is not None:
            marginals[item, starts, ends, :s] = (labels * around).to(marginals.dtype)
        add_outer(labels, slope, into.children[g])
        if work.spans is not None:
            around *= span_weights
        add_outer(around, sums, into.head[g])
