"""Fused kernels of probabilistic context-free grammars.

Log-partition and marginals are products of matrices in probability space, in double precision, with one exponent
for each span. An item in which a weight that matters could underflow is computed in log space, by the reference.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.gradients import pull_backs
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import empty, no_events, zeros
from strukt.kernels.semiring import NEG_INF
from strukt.structures.pcfg import cpu_best, cpu_inside, cpu_kbest, cpu_outside, cpu_sample
from strukt.structures.pcfg.cpu_outside import Expected
from strukt.structures.pcfg.cpu_products import Array
from strukt.structures.pcfg.cpu_weights import Grammar, weigh
from strukt.structures.pcfg.reference import REFERENCE

LOST = float("inf")
"""Stands in the chart as the log of the first span of no words if the item is in log space."""


def chart_shape(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[int, int, int, int]:
    """``(batch, n, n + 1, s + 2)``; charts are of float64."""
    batch, size = spans.shape[:2]
    return batch, size - 1, size, root.shape[1] + 2


def inside(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n^3 s^2 + n^2 s^3 + n s p (s + p)) an item."""
    scores = (spans, root, rules, emission)
    chart = empty(chart_shape(*scores, lengths))
    log_partition = zeros(lengths, torch.float64)
    if chart.size:
        grammar, lost = weigh(len(spans), *_arrays(root, rules))
        arrays = _arrays(spans, emission, lengths)
        over_batch(cpu_inside.inside, _threads(scores), grammar, *arrays, chart, log_partition.numpy(), lost)
        chart[:, 0, 0, -2] = np.where(lost, LOST, 0.0)
        items = torch.from_numpy(lost.nonzero()[0])
        if len(items):
            with torch.no_grad():
                found = REFERENCE.log_partition(*_of(items, scores), lengths[items])
            log_partition[items] = found.double()
    return log_partition.to(spans.dtype), torch.from_numpy(chart)


def outside(
    spans: Tensor,
    root: Tensor,
    rules: Tensor,
    emission: Tensor,
    lengths: Tensor,
    weights: Tensor,
    chart: Tensor,
) -> Scores:
    """Expected parts, each item times its weight, in the shapes of the scores."""
    scores = (spans, root, rules, emission)
    if not chart.numel():
        return tuple(zeros(score) for score in scores)
    batch, s = len(spans), root.shape[1]
    items = (chart[:, 0, 0, -2] == LOST).nonzero().squeeze(-1)
    safe = lengths.index_fill(0, items, 0)
    grammar, _ = weigh(batch, *_arrays(root, rules))
    threads = _threads(scores)
    expected = _nothing_expected(grammar, threads if len(rules) < batch else 1)
    marginals = zeros(spans)
    arrays = _arrays(spans, emission, safe, weights, chart)
    over_batch(cpu_outside.outside, threads, grammar, *arrays, expected, marginals.numpy())
    words = marginals.diagonal(1, 1, 2)[:, s:].mT
    top = marginals[torch.arange(batch), 0, lengths, :s]
    found = torch.from_numpy(_expected_rules(grammar, expected).astype(rules.numpy().dtype))
    grads = (marginals, _group_sums(top, len(root)), found, _group_sums(words, len(emission)))
    if len(items):
        _add_lost(grads, scores, lengths, weights, items)
    return grads


def best(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """The labels of the spans of the best tree ``(batch, n + 1, n + 1)`` and its score; as long as `inside`."""
    labels = no_events(*spans.shape[:3])
    score = zeros(lengths, torch.float64)
    if labels.numel():
        arrays = _arrays(spans, emission, lengths)
        grammar = cpu_best.arranged(*_arrays(root, rules))
        threads = _threads((spans, root, rules, emission))
        over_batch(cpu_best.best, threads, grammar, *arrays, labels.numpy(), score.numpy())
    return labels, score.to(spans.dtype)


def kbest(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """The k best trees ``(batch, k, n + 1, n + 1)`` and their scores; as long as `best` and O(k n^2 (s + p)^2)."""
    batch, size = spans.shape[:2]
    labels = no_events(batch, k, size, size)
    scores = torch.zeros(batch, k, dtype=torch.float64)
    if labels.numel():
        arrays = _arrays(spans, emission, lengths)
        grammar = cpu_best.arranged(*_arrays(root, rules))
        threads = _threads((spans, root, rules, emission))
        over_batch(cpu_kbest.kbest, threads, grammar, *arrays, labels.numpy(), scores.numpy())
    return labels, scores.to(spans.dtype)


def sample(
    spans: Tensor, root: Tensor, rules: Tensor, emission: Tensor, lengths: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Trees ``(batch, count, n + 1, n + 1)`` drawn from the top downwards, and the log-partition."""
    scores = (spans, root, rules, emission)
    log_partition, chart = inside(*scores, lengths)
    batch, size = spans.shape[:2]
    labels = no_events(batch, count, size, size)
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    if chart.numel():
        lost = chart[:, 0, 0, -2] == LOST
        grammar, _ = weigh(batch, *_arrays(root, rules))
        feasible = ~lost & (log_partition > NEG_INF)
        arrays = _arrays(spans, emission, lengths, chart, feasible, seeds)
        over_batch(cpu_sample.sample, _threads(scores), grammar, *arrays, labels.numpy())
        items = lost.nonzero().squeeze(-1)
        if len(items):
            labels[items] = REFERENCE.sample(*_of(items, scores), lengths[items], count)[0]
    return labels, log_partition


def _arrays(*tensors: Tensor) -> tuple[Array, ...]:
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)


def _threads(scores: Scores) -> int:
    batch, n, s = len(scores[0]), scores[0].shape[1] - 1, scores[1].shape[1]
    return thread_count(batch, batch * n * n * s * s * (n + s))


def _nothing_expected(grammar: Grammar, slots: int) -> Expected:
    matrices = (grammar.pairs, grammar.words, grammar.beside, grammar.before)
    found = Expected(*(empty((slots, *matrix.shape)) for matrix in matrices))
    for array in found:
        array.fill(0.0)
    return found


def _expected_rules(grammar: Grammar, expected: Expected) -> Array:
    """``(groups, s, s + p, s + p)``."""
    groups, s, labels, _ = grammar.rules.shape
    pairs, words, beside, before = (part.sum(0) if len(part) > 1 else part[0] for part in expected)
    found = empty(grammar.rules.shape)
    found[:, :, :s, :s] = pairs.reshape(groups, s, s, s)
    found[:, :, s:, s:] = words.reshape(groups, s, labels - s, labels - s)
    found[:, :, :s, s:] = beside.reshape(groups, s, s, labels - s)
    found[:, :, s:, :s] = before.reshape(groups, s, s, labels - s).swapaxes(2, 3)
    found *= grammar.rules
    return found


def _group_sums(values: Tensor, groups: int) -> Tensor:
    """Values of items ``(batch, ...)`` summed over those that share an entry: ``(groups, ...)``."""
    return values.reshape(groups, -1, *values.shape[1:]).sum(1)


def _add_lost(grads: Scores, scores: Scores, lengths: Tensor, weights: Tensor, items: Tensor) -> None:
    """Add what items in log space expect."""
    picked = _of(items, scores)
    (more,) = pull_backs(REFERENCE.log_partition, picked, [lengths[items]], [weights[items]])
    for grad, part in zip(grads, more, strict=True):
        groups = items * len(grad) // len(scores[0])
        grad.index_add_(0, groups[: len(part)], part)


def _of(items: Tensor, scores: Scores) -> Scores:
    """The scores of some items; those that all share as they are."""
    batch = len(scores[0])
    return tuple(score if len(score) == 1 else score[items * len(score) // batch] for score in scores)
