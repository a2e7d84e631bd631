"""Fused passes of low-rank grammars: a chart of probabilities over ranks, with one log-scale for each span.

Matrix products are PyTorch's; sums over split points are compiled. An item for which underflow could matter is
computed in log space, by the reference.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.gradients import group_sums
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import empty, no_events, zeros
from strukt.kernels.semiring import NEG_INF
from strukt.structures.low_rank_pcfg import cpu_sample
from strukt.structures.low_rank_pcfg.cpu_inside import inside_pass
from strukt.structures.low_rank_pcfg.cpu_outside import (
    label_gradients,
    outside_pass,
    rank_gradients,
    word_gradients,
)
from strukt.structures.low_rank_pcfg.cpu_sentences import Sentences, sentence
from strukt.structures.low_rank_pcfg.reference import REFERENCE
from strukt.structures.low_rank_pcfg.weights import weigh
from strukt.structures.pcfg import log_space

UNDERFLOWED = float("inf")
"""The value of ``chart[b, 0, 3 r]``, the log-scale of the first word, if item b was computed in log space."""


def chart_shape(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[int, int, int]:
    """Return the shape of the chart, which is float64: ``(batch, n (n + 1) / 2, 3 r + 2)``."""
    return shape_of_chart(len(spans), emission, head)


def shape_of_chart(batch: int, emission: Tensor, head: Tensor) -> tuple[int, int, int]:
    """Return the shape of the chart, from ``emission (g, n, p)`` and ``head (g, s, r)``."""
    n = emission.shape[1]
    return batch, n * (n + 1) // 2, 3 * head.shape[2] + 2


def inside(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n^3 r + n^2 s r + n p r) per item."""
    scores = (spans, root, left, right, head, emission)
    chart = torch.from_numpy(empty(chart_shape(*scores, lengths)))
    return run_inside(_sentences(scores, lengths, chart), REFERENCE, scores)


def run_inside(work: Sentences, reference: DynamicProgram, scores: Scores) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the filled chart; mark items computed by the reference."""
    kind = scores[0].dtype
    if not work.chart.numel():
        return zeros(work.lengths, kind), work.chart
    log_partition, underflowed = inside_pass(work)
    items = underflowed.nonzero().squeeze(1)
    if len(items):
        work.chart[items, 0, -2] = UNDERFLOWED
        log_space.write_log_partitions(reference, log_partition, scores, work.lengths, items)
    return log_partition.to(kind), work.chart


def outside(*arguments: Tensor) -> Scores:
    """Return the gradients of the log-partitions, times the weight of each item, in the shapes of the scores.

    The arguments are scores, lengths, weights and the chart.
    """
    scores, (lengths, weights, chart) = arguments[:6], arguments[6:]
    if not chart.numel():
        return tuple(zeros(score) for score in scores)
    spans, *rules, emission = scores
    underflowed = underflowed_items(chart)
    work = _sentences(scores, lengths.index_fill(0, underflowed, 0), chart)
    marginals = zeros(spans)
    in_rules, words = run_outside(work, tuple(rules), weights, marginals)
    marginals.diagonal(1, 1, 2)[:, rules[0].shape[1] :] = words.mT
    grads = (marginals, *in_rules, group_sums(words, len(emission)))
    log_space.add_gradients(REFERENCE, grads, scores, lengths, weights, underflowed)
    return grads


def run_outside(
    work: Sentences, rules: Scores, weights: Tensor, marginals: Tensor | None
) -> tuple[Scores, Tensor]:
    """Return the gradients of root, left, right and head scores, ``rules``, and those of words ``(batch, n, p)``.

    The marginals of labels are written to ``marginals``; if it is None, labels are left out where that is faster.
    """
    slopes, shares = outside_pass(work, weights.detach())
    into = work.weights.no_gradients()
    if marginals is None and work.joined is not None:
        rank_gradients(work, slopes, shares, into)
    else:
        label_gradients(work, slopes, shares, into, marginals)
    words = word_gradients(work, slopes, into).to(rules[0].dtype)
    return work.weights.as_gradients(into, rules), words


def sample(*arguments: Any) -> tuple[Tensor, Tensor]:
    """Return trees ``(batch, count, n + 1, n + 1)`` drawn from the root down, and the log-partition ``(batch,)``.

    The arguments are scores, lengths and count. Takes O(n (n + r + s + p)) for each tree, and O(n^2 s r) more for
    each item.
    """
    scores, (lengths, count) = arguments[:6], arguments[6:]
    log_partition, chart = inside(*arguments[:7])
    batch, size = scores[0].shape[:2]
    trees = no_events(batch, count, size, size)
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    if not chart.numel():
        return trees, log_partition
    underflowed = underflowed_items(chart)
    work = _sentences(scores, lengths.index_fill(0, underflowed, 0), chart)
    feasible = (work.lengths > 1) & (log_partition > NEG_INF)
    threads = thread_count(count, count * size * (size + work.rank + work.weights.symbols.shape[2]))
    for item in feasible.nonzero().squeeze(1).tolist():
        inputs = (sentence(work, item), int(lengths[item]), seeds[item], trees[item])
        over_batch(cpu_sample.sample, threads, *inputs)
    if len(underflowed):
        picked = log_space.of_items(underflowed, scores)
        trees[underflowed] = REFERENCE.sample(*picked, lengths[underflowed], count)[0]
    return trees, log_partition


def underflowed_items(chart: Tensor) -> Tensor:
    """Return the indices of the items that were computed in log space."""
    return (chart[:, 0, -2] == UNDERFLOWED).nonzero().squeeze(1)


def _sentences(scores: Scores, lengths: Tensor, chart: Tensor) -> Sentences:
    """Return the inputs of the passes; the default scores of spans, a single expanded 0, are left out."""
    spans, *rules, emission = (score.detach() for score in scores)
    words = emission.double().repeat_interleave(len(spans) // max(len(emission), 1), 0)
    if _is_one_zero(spans):
        return Sentences(weigh(*rules), words, None, lengths, chart)
    words = words + spans.diagonal(1, 1, 2)[:, rules[0].shape[1] :].mT
    return Sentences(weigh(*rules), words, spans, lengths, chart)


def _is_one_zero(spans: Tensor) -> bool:
    """Return True if the scores are a single 0, expanded, which is the default."""
    return not any(spans.stride()) and bool(spans.numel()) and spans[0, 0, 0, 0].item() == 0
