"""Fused kernels of probabilistic context-free grammars (inside-outside, CKY).

Log-partition and marginals are matrix products in probability space, in double precision, with one scale for each
span. If a weight that matters could underflow, the reference computes the item in log space.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.jit import over_batch
from strukt.kernels.memory import empty, filled, no_events, zeros
from strukt.kernels.semiring import NEG_INF
from strukt.structures.pcfg import (
    cpu_cky,
    cpu_entropy,
    cpu_kbest,
    cpu_max_marginals,
    cpu_outside,
    cpu_sample,
    log_space,
)
from strukt.structures.pcfg.cpu_charts import arrays_of, chart_shape, fill, threads_for, underflowed_items
from strukt.structures.pcfg.cpu_gradients import gradients, rules_of, zero_expected
from strukt.structures.pcfg.cpu_weights import weigh
from strukt.structures.pcfg.reference import REFERENCE

derivative = cpu_entropy.derivative
entropy, entropy_gradient = cpu_entropy.entropy, cpu_entropy.entropy_gradient
surprise, surprise_gradient = cpu_entropy.surprise, cpu_entropy.surprise_gradient


def inside(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart of `cpu_inside`.

    Time O(n^3 s^2 + n^2 s^3 + n s p (s + p)) per item.
    """
    scores = (spans, root, rules, emission)
    if not math.prod(chart_shape(*scores, lengths)):
        return zeros(lengths, spans.dtype), torch.from_numpy(empty(chart_shape(*scores, lengths)))
    charts = fill(scores, lengths)
    log_partition = torch.from_numpy(charts.log_partition)
    items = torch.from_numpy(charts.underflowed.nonzero()[0])
    if len(items):
        log_space.write_log_partitions(REFERENCE, log_partition, scores, lengths, items)
    return log_partition.to(spans.dtype), torch.from_numpy(charts.chart)


def outside(*arguments: Tensor) -> Scores:
    """Return the gradients of the log-partitions times ``weights (batch,)``: expected uses of each score.

    They have the shapes of the scores. The arguments are scores, lengths, weights and the chart.
    """
    scores, (lengths, weights, chart) = arguments[:4], arguments[4:]
    spans, root, rules, emission = scores
    if not chart.numel():
        return tuple(zeros(score) for score in scores)
    items = underflowed_items(chart)
    safe = lengths.index_fill(0, items, 0)
    grammar, _ = weigh(len(spans), *arrays_of(root, rules))
    threads = threads_for(scores)
    expected = zero_expected(grammar, threads if len(rules) < len(spans) else 1)
    marginals = zeros(spans, torch.float64)
    arrays = arrays_of(spans, emission, safe, weights, chart)
    over_batch(cpu_outside.outside, threads, grammar, *arrays, expected, marginals.numpy())
    grads = gradients(scores, lengths, marginals, rules_of(grammar, expected))
    log_space.add_gradients(REFERENCE, grads, scores, lengths, weights, items)
    return grads


def best(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the labels of the best tree ``(batch, n + 1, n + 1)`` (CKY) and its score ``(batch,)``.

    Time as `inside`.
    """
    labels = no_events(*spans.shape[:3])
    score = zeros(lengths, torch.float64)
    if labels.numel():
        arrays = arrays_of(spans, emission, lengths)
        grammar = cpu_cky.arranged(*arrays_of(root, rules))
        threads = threads_for((spans, root, rules, emission))
        over_batch(cpu_cky.best, threads, grammar, *arrays, labels.numpy(), score.numpy())
    return labels, score.to(spans.dtype)


def kbest(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """Return the k best trees ``(batch, k, n + 1, n + 1)`` and their scores ``(batch, k)``.

    Time as `best` plus O(k n^2 (s + p)^2).
    """
    batch, size = spans.shape[:2]
    labels = no_events(batch, k, size, size)
    scores = torch.zeros(batch, k, dtype=torch.float64)
    if labels.numel():
        arrays = arrays_of(spans, emission, lengths)
        grammar = cpu_cky.arranged(*arrays_of(root, rules))
        threads = threads_for((spans, root, rules, emission))
        over_batch(cpu_kbest.kbest, threads, grammar, *arrays, labels.numpy(), scores.numpy())
    return labels, scores.to(spans.dtype)


def max_marginals(spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each labelled span, the best score of a tree with it, shaped like ``spans``.

    Takes twice the time of `best`.
    """
    best = filled(tuple(spans.shape), NEG_INF, torch.float64)
    if best.numel():
        grammar_arrays = arrays_of(root, rules)
        grammar, downwards = cpu_cky.arranged(*grammar_arrays), cpu_max_marginals.downwards(grammar_arrays[1])
        threads = threads_for((spans, root, rules, emission))
        arrays = arrays_of(spans, emission, lengths)
        over_batch(cpu_max_marginals.max_marginals, threads, grammar, downwards, *arrays, best.numpy())
    return best.to(spans.dtype)


def sample(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Draw trees ``(batch, count, n + 1, n + 1)`` from the root down; return them and the log-partition."""
    scores = (spans, root, rules, emission)
    log_partition, chart = inside(*scores, lengths)
    batch, size = spans.shape[:2]
    labels = no_events(batch, count, size, size)
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    if chart.numel():
        items = underflowed_items(chart)
        grammar, _ = weigh(batch, *arrays_of(root, rules))
        feasible = (log_partition > NEG_INF).index_fill(0, items, False)
        arrays = arrays_of(spans, emission, lengths, chart, feasible, seeds)
        over_batch(cpu_sample.sample, threads_for(scores), grammar, *arrays, labels.numpy())
        if len(items):
            chosen = log_space.of_items(items, scores)
            labels[items] = REFERENCE.sample(*chosen, lengths[items], count)[0]
    return labels, log_partition
