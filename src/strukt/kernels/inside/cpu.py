"""Fused Numba kernels of binary trees over spans: inside, outside and its derivative, best tree, samples.

Semirings are named by the constants of `strukt.kernels.cpu_semiring`. Labels are
summed first: ``own[i, j]`` is what a span itself contributes. Sums are taken in probability space, with a
constant subtracted from each ``own``, which all trees use equally often, and so chosen that spans of all widths
stay near 1. An item with a value so far from 1 that a product of three could underflow runs in log space.

The chart holds two matrices over pairs of fenceposts, for an item of length n in its first 2 (n + 1)^2 numbers:
the inside value of each span on both sides of the diagonal, so that both ways of reading are contiguous; and
for the span from i to j the log of ``own`` at ``[i, j]`` and the value without ``own`` at ``[j, i]``. The entry
``[0, 0]`` of the first names the semiring, that of the second is the constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.cpu_semiring import LOG, PROBABILITY
from strukt.kernels.inside import cpu_derivative, cpu_kbest, cpu_sample
from strukt.kernels.inside.cpu_chart import better_shift, fill, load, log_total, spread
from strukt.kernels.jit import kernel, leading, over_batch, own_exp, sample_threads, thread_count
from strukt.kernels.memory import empty, no_events, zeros

Array = npt.NDArray[Any]


def chart_shape(spans: Tensor, lengths: Tensor, labelled: bool) -> tuple[int, int, int, int]:
    """``(batch, 2, n + 1, n + 1)``; charts are of float64."""
    return len(spans), 2, spans.shape[1], spans.shape[1]


def inside(spans: Tensor, lengths: Tensor, labelled: bool) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n^3 + n^2 c) an item, items in parallel."""
    chart = torch.from_numpy(empty(chart_shape(spans, lengths, labelled)))
    log_partition = zeros(lengths, torch.float64)
    _run(_inside, spans, lengths, labelled, chart.numpy(), log_partition.numpy())
    return log_partition.to(spans.dtype), chart


def outside(spans: Tensor, lengths: Tensor, labelled: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """The probability of each part times the weight of its item: the shape of ``spans``."""
    marginals = zeros(spans)
    each = (marginals if labelled else marginals.unsqueeze(-1)).numpy()
    _run(_outside, spans, lengths, labelled, weights.contiguous().numpy(), chart.numpy(), each)
    return marginals


def derivative(
    spans: Tensor, lengths: Tensor, labelled: bool, weights: Tensor, direction: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of <`outside`, direction> in the scores and in the weights; time O(n^3 + n^2 c) an item."""
    grads, weights_grad = zeros(spans), zeros(weights)
    each = [value if labelled else value.unsqueeze(-1) for value in (direction, grads)]
    arrays = _arrays(weights, each[0], chart)
    _run(cpu_derivative.derivative, spans, lengths, labelled, *arrays, each[1].numpy(), weights_grad.numpy())
    return grads, weights_grad


def best(spans: Tensor, lengths: Tensor, labelled: bool) -> tuple[Tensor, Tensor]:
    """The labels of the spans of the best tree ``(batch, n + 1, n + 1)`` and its score; time O(n^3)."""
    labels, scores = kbest(spans, lengths, labelled, 1)
    return labels[:, 0], scores[:, 0]


def kbest(spans: Tensor, lengths: Tensor, labelled: bool, k: int) -> tuple[Tensor, Tensor]:
    """The k best trees ``(batch, k, n + 1, n + 1)`` and their scores; time O(n^3 + k n (n + c)) for c labels."""
    return kbest_of(_as_feature(spans, labelled), lengths, k)


def sample(spans: Tensor, lengths: Tensor, labelled: bool, count: int) -> tuple[Tensor, Tensor]:
    """Trees ``(batch, count, n + 1, n + 1)`` drawn from the top downwards, and the log-partition.

    A sample takes O(n^2), and O(n log n) once the weights of its spans are known from others.
    """
    log_partition, chart = inside(spans, lengths, labelled)
    return sample_of(_as_feature(spans, labelled), lengths, chart, count), log_partition


def kbest_of(values: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The same for scores ``(batch, n + 1, n + 1, features, values)``."""
    batch, size, _, features, alternatives = values.shape
    labels = no_events(batch, k, size, size)
    scores = torch.from_numpy(empty((batch, k)))
    threads = thread_count(batch, batch * size * size * (size + features * alternatives))
    over_batch(cpu_kbest.kbest, threads, *_arrays(values, lengths, labels, scores))
    return labels, scores.to(values.dtype)


def sample_of(values: Tensor, lengths: Tensor, chart: Tensor, count: int) -> Tensor:
    """Samples for scores ``(batch, n + 1, n + 1, features, values)`` and the chart of their sums."""
    batch, size, _, features, _ = values.shape
    labels = torch.from_numpy(empty((batch, count, size, size), np.int64))
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    threads, chunks = sample_threads(batch, count, batch * count * size * (10 * features + size))
    arrays = _arrays(values, lengths, chart, seeds)
    over_batch(cpu_sample.sample, threads, *arrays, chunks, labels.numpy())
    return labels


def _arrays(*tensors: Tensor) -> tuple[Array, ...]:
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)


def _as_feature(spans: Tensor, labelled: bool) -> Tensor:
    """Labels as the values of one feature."""
    return spans.unsqueeze(-2) if labelled else spans[..., None, None]


def _run(
    function: Callable[..., None], spans: Tensor, lengths: Tensor, labelled: bool, *arrays: Array
) -> None:
    """Call ``function(spans, lengths, *arrays, start, step)`` on all threads, spans with an axis of labels."""
    each = spans.detach().contiguous()
    each = each if labelled else each.unsqueeze(-1)
    batch, size, _, labels = each.shape
    if batch and size > 1 and labels:
        threads = thread_count(batch, batch * size * size * (size + labels))
        over_batch(function, threads, each.numpy(), lengths.detach().contiguous().numpy(), *arrays)


@kernel
def _inside(spans: Array, lengths: Array, chart: Array, log_partition: Array, start: int, step: int) -> None:
    for b in range(start, spans.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        item = leading(chart[b], (2, n + 1, n + 1))
        shift = load(LOG, spans, b, item[1])
        safe = fill(PROBABILITY, shift, item)
        if not safe:
            safe = fill(PROBABILITY, better_shift(shift, item), item)
        if not safe:
            fill(LOG, 0.0, item)
        log_partition[b] = log_total(item)


@kernel
def _outside(
    spans: Array, lengths: Array, weights: Array, chart: Array, marginals: Array, start: int, step: int
) -> None:
    size = spans.shape[1]
    room = np.empty((size, size))
    for b in range(start, spans.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        item = leading(chart[b], (2, n + 1, n + 1))
        if log_total(item) == -np.inf:
            continue
        mass = leading(room, (n + 1, n + 1))
        spread(item, mass)
        for i in range(n):
            for j in range(i + 1, n + 1):
                total = spans.dtype.type(weights[b] * (mass[i, j] + mass[j, i]))
                if total != 0.0:
                    for label in range(spans.shape[3]):
                        log_share = spans.dtype.type(spans[b, i, j, label] - item[1, i, j])
                        marginals[b, i, j, label] = total * own_exp(log_share)
