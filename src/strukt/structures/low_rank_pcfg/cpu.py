"""Fused passes of low-rank grammars: a chart of probabilities over ranks, with one log-scale for each span.

Matrix products are PyTorch's; sums over split points are compiled. An item for which underflow could matter is
computed in log space, by the reference.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.gradients import group_sums
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import empty, no_events, zeros
from strukt.kernels.semiring import NEG_INF
from strukt.structures.low_rank_pcfg import cpu_sample, log_space
from strukt.structures.low_rank_pcfg.cpu_inside import inside_pass
from strukt.structures.low_rank_pcfg.cpu_outside import label_gradients, outside_pass, word_gradients
from strukt.structures.low_rank_pcfg.cpu_sentences import Sentences, sentence
from strukt.structures.low_rank_pcfg.reference import REFERENCE
from strukt.structures.low_rank_pcfg.weights import weigh
from strukt.structures.pcfg.cpu_charts import of_items

UNDERFLOWED = float("inf")
"""The mark of an item computed in log space, in place of the log-scale of its first word in the chart."""


def chart_shape(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[int, int, int]:
    """Return the shape of the chart, ``(batch, n (n + 1) / 2, 3 r + 2)``, in float64."""
    return shape_of_chart(len(spans), emission, head)


def shape_of_chart(batch: int, emission: Tensor, head: Tensor) -> tuple[int, int, int]:
    n = emission.shape[1]
    return batch, n * (n + 1) // 2, 3 * head.shape[2] + 2


def inside(
    spans: Tensor, root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n^3 r + n^2 s r + n p r) per item."""
    chart = torch.from_numpy(empty(chart_shape(spans, root, left, right, head, emission, lengths)))
    scores = (spans, root, left, right, head, emission)
    work = _sentences(*scores, lengths, chart)
    return run_inside(work, REFERENCE, scores, lengths).to(spans.dtype), chart


def run_inside(work: Sentences, reference: DynamicProgram, scores: Scores, lengths: Tensor) -> Tensor:
    """Return the log-partition ``(batch,)``; fill the chart, and mark items computed by the reference."""
    if not work.chart.numel():
        return zeros(lengths, torch.float64)
    log_partition, underflowed = inside_pass(work)
    items = underflowed.nonzero().squeeze(1)
    if len(items):
        work.chart[items, 0, -2] = UNDERFLOWED
        log_space.write_log_partitions(reference, log_partition, scores, lengths, items)
    return log_partition


def outside(
    spans: Tensor,
    root: Tensor,
    left: Tensor,
    right: Tensor,
    head: Tensor,
    emission: Tensor,
    lengths: Tensor,
    weights: Tensor,
    chart: Tensor,
) -> Scores:
    """Return the gradients of the log-partitions, times the weight of each item, in the shapes of the scores."""
    scores = (spans, root, left, right, head, emission)
    if not chart.numel():
        return tuple(zeros(score) for score in scores)
    underflowed = underflowed_items(chart)
    work = _sentences(*scores, lengths.index_fill(0, underflowed, 0), chart)
    slopes, shares = outside_pass(work, weights.detach())
    marginals = zeros(spans)
    into = work.weights.no_gradients()
    label_gradients(work, slopes, shares, into, marginals)
    words = word_gradients(work, slopes, into).to(spans.dtype)
    marginals.diagonal(1, 1, 2)[:, root.shape[1] :] = words.mT
    in_words = group_sums(words, len(emission))
    grads = (marginals, *work.weights.as_gradients(into, (root, left, right, head)), in_words)
    log_space.add_gradients(REFERENCE, grads, scores, lengths, weights, underflowed)
    return grads


def sample(
    spans: Tensor,
    root: Tensor,
    left: Tensor,
    right: Tensor,
    head: Tensor,
    emission: Tensor,
    lengths: Tensor,
    count: int,
) -> tuple[Tensor, Tensor]:
    """Return trees ``(batch, count, n + 1, n + 1)`` drawn from the root down, and the log-partition.

    Takes O(n (n + r + s + p)) for each tree, and O(n^2 s r) more for each item.
    """
    scores = (spans, root, left, right, head, emission)
    log_partition, chart = inside(*scores, lengths)
    batch, size = spans.shape[:2]
    trees = no_events(batch, count, size, size)
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    if not chart.numel():
        return trees, log_partition
    underflowed = underflowed_items(chart)
    work = _sentences(*scores, lengths.index_fill(0, underflowed, 0), chart)
    feasible = (work.lengths > 1) & (log_partition > NEG_INF)
    threads = thread_count(count, count * size * (size + head.shape[2] + left.shape[2]))
    for item in feasible.nonzero().squeeze(1).tolist():
        arguments = (sentence(work, item), int(lengths[item]), seeds[item].numpy(), trees[item].numpy())
        over_batch(cpu_sample.sample, threads, *arguments)
    if len(underflowed):
        picked = of_items(underflowed, scores)
        trees[underflowed] = REFERENCE.sample(*picked, lengths[underflowed], count)[0]
    return trees, log_partition


def underflowed_items(chart: Tensor) -> Tensor:
    """Return the indices of the items that were computed in log space."""
    return (chart[:, 0, -2] == UNDERFLOWED).nonzero().squeeze(1)


def _sentences(
    spans: Tensor,
    root: Tensor,
    left: Tensor,
    right: Tensor,
    head: Tensor,
    emission: Tensor,
    lengths: Tensor,
    chart: Tensor,
) -> Sentences:
    """Return the inputs of the passes; the default scores of spans, a single expanded 0, are left out."""
    span_scores = spans.detach()
    weights = weigh(*(score.detach() for score in (root, left, right, head)))
    words = emission.detach().double().repeat_interleave(len(spans) // max(len(emission), 1), 0)
    if _is_one_zero(span_scores):
        return Sentences(weights, words, None, lengths, chart)
    words = words + span_scores.diagonal(1, 1, 2)[:, root.shape[1] :].mT
    return Sentences(weights, words, span_scores, lengths, chart)


def _is_one_zero(spans: Tensor) -> bool:
    """Return True if the scores are a single 0, expanded, which is the default."""
    return not any(spans.stride()) and bool(spans.numel()) and spans[0, 0, 0, 0].item() == 0
