"""Fused Numba kernels of binary trees over spans: inside, outside, best tree, samples.

One set of loops serves three semirings, named by the constants of `strukt.kernels.cpu_semiring`. Labels are
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

from strukt.kernels.cpu_semiring import LOG, MAX, PROBABILITY, choose, dot, one, push, weigh
from strukt.kernels.jit import exp, kernel, leading, over_batch, thread_count
from strukt.kernels.memory import empty, zeros

Array = npt.NDArray[Any]

LOW, HIGH = 1e-100, 1e100
"""Where the values of a chart in probability space must lie."""


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


def best(spans: Tensor, lengths: Tensor, labelled: bool) -> tuple[Tensor, Tensor]:
    """The labels of the spans of the best tree ``(batch, n + 1, n + 1)`` and its score; time O(n^3)."""
    labels = torch.full(spans.shape[:3], -1, dtype=torch.int64)
    score = zeros(lengths, torch.float64)
    _run(_best, spans, lengths, labelled, labels.numpy(), score.numpy())
    return labels, score.to(spans.dtype)


def sample(spans: Tensor, lengths: Tensor, labelled: bool, count: int) -> tuple[Tensor, Tensor]:
    """Trees ``(batch, count, n + 1, n + 1)`` drawn from the top downwards, O(n^2) each; the log-partition."""
    log_partition, chart = inside(spans, lengths, labelled)
    batch, size = spans.shape[:2]
    uniform = torch.rand(batch, count, 4 * size, dtype=torch.float64)
    labels = torch.full((batch, count, size, size), -1, dtype=torch.int64)
    _run(_sample, spans, lengths, labelled, chart.numpy(), uniform.numpy(), labels.numpy())
    return labels, log_partition


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
def _sum_labels(semiring: int, spans: Array, b: int, i: int, j: int) -> float:
    """The log of what a span itself contributes, or its best score."""
    labels = spans.shape[3]
    top = -np.inf
    for label in range(labels):
        top = max(top, np.float64(spans[b, i, j, label]))
    if labels == 1 or semiring == MAX or top == -np.inf:
        return top
    total = 0.0
    for label in range(labels):
        total += exp(spans[b, i, j, label] - top)
    return top + np.log(total)  # type: ignore[no-any-return]


@kernel
def _load(semiring: int, spans: Array, b: int, logs: Array) -> float:
    """Logs of ``own`` above the diagonal; gives their mean over the spans that are not forbidden."""
    size = logs.shape[0]
    total, count = 0.0, 0
    for i in range(size - 1):
        for j in range(i + 1, size):
            logs[i, j] = _sum_labels(semiring, spans, b, i, j)
            if logs[i, j] > -np.inf:
                total += logs[i, j]
                count += 1
    return total / count if count > 0 else 0.0


@kernel
def _weigh(shift: float, logs: Array, values: Array) -> int:
    """What each span contributes itself, in probability space; the number of those out of the range."""
    size = logs.shape[0]
    lost = 0
    for i in range(size - 1):
        for j in range(i + 1, size):
            own = exp(logs[i, j] - shift)
            values[i, j] = own
            lost += int((own > HIGH) | ((own < LOW) & (logs[i, j] > -np.inf)))
    return lost


@kernel
def _fill(semiring: int, shift: float, chart: Array) -> bool:
    """Inside values of all spans, from narrow to wide; whether none could underflow."""
    values, logs = chart[0], chart[1]
    size = values.shape[0]
    lost = 0
    if semiring == PROBABILITY:
        lost = _weigh(shift, logs, values)
    else:
        values[:, :] = logs
    values[0, 0], logs[0, 0] = float(semiring), shift
    for width in range(1, size):
        for i in range(size - width):
            j = i + width
            without = one(semiring) if width == 1 else dot(semiring, values, i, values, j, i + 1, j, 0)
            value = weigh(semiring, without, values[i, j])
            logs[j, i] = without
            values[i, j] = values[j, i] = value
            lost += int((value > HIGH) | ((value < LOW) & (value > 0.0)))
    return lost == 0 or semiring != PROBABILITY


@kernel
def _better_shift(shift: float, chart: Array) -> float:
    """The constant that keeps spans near 1, judged by the widest at the start that did not leave the range."""
    values = chart[0]
    width = values.shape[0] - 1
    while width > 1 and not LOW < values[0, width] < HIGH:
        width -= 1
    value = values[0, width]
    return shift + np.log(value) / (2 * width - 1) if value > 0.0 else shift


@kernel
def _total(chart: Array) -> float:
    """The log of the total in a chart."""
    values, shift = chart[0], chart[1, 0, 0]
    n = values.shape[0] - 1
    top = values[0, n]
    if values[0, 0] == PROBABILITY:
        top = np.log(top) if top > 0.0 else -np.inf
    return top + (2 * n - 1) * shift  # type: ignore[no-any-return]


@kernel
def _inside(spans: Array, lengths: Array, chart: Array, log_partition: Array, start: int, step: int) -> None:
    for b in range(start, spans.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        item = leading(chart[b], (2, n + 1, n + 1))
        shift = _load(LOG, spans, b, item[1])
        safe = _fill(PROBABILITY, shift, item)
        if not safe:
            safe = _fill(PROBABILITY, _better_shift(shift, item), item)
        if not safe:
            _fill(LOG, 0.0, item)
        log_partition[b] = _total(item)


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
        if _total(item) == -np.inf:
            continue
        mass = leading(room, (n + 1, n + 1))
        _spread(item, mass)
        for i in range(n):
            for j in range(i + 1, n + 1):
                total = weights[b] * (mass[i, j] + mass[j, i])
                if total != 0.0:
                    for label in range(spans.shape[3]):
                        marginals[b, i, j, label] = total * exp(spans[b, i, j, label] - item[1, i, j])


@kernel
def _spread(chart: Array, mass: Array) -> None:
    """The probability of each span, in two parts, spread over the ways to make it, from wide to narrow."""
    values, logs = chart[0], chart[1]
    semiring = int(values[0, 0])
    size = values.shape[0]
    mass[:, :] = 0.0
    mass[0, size - 1] = 1.0
    for width in range(size - 1, 1, -1):
        for i in range(size - width):
            j = i + width
            total = mass[i, j] + mass[j, i]
            push(semiring, total, logs[j, i], values, i, values, j, i + 1, j, 0, mass, mass)


@kernel
def _best(spans: Array, lengths: Array, labels: Array, score: Array, start: int, step: int) -> None:
    size = spans.shape[1]
    room = np.empty((2, size, size))
    draws = np.empty(0)
    for b in range(start, spans.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        item = leading(room, (2, n + 1, n + 1))
        _load(MAX, spans, b, item[1])
        _fill(MAX, 0.0, item)
        score[b] = _total(item)
        if score[b] > -np.inf:
            _trace(spans, b, item, draws, labels[b])


@kernel
def _sample(
    spans: Array, lengths: Array, chart: Array, uniform: Array, labels: Array, start: int, step: int
) -> None:
    for b in range(start, spans.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        item = leading(chart[b], (2, n + 1, n + 1))
        if _total(item) == -np.inf:
            continue
        for k in range(uniform.shape[1]):
            _trace(spans, b, item, uniform[b, k], labels[b, k])


@kernel
def _trace(spans: Array, b: int, chart: Array, uniform: Array, labels: Array) -> None:
    """One tree, from the top downwards: the best one, or a sample with the given random numbers."""
    values = chart[0]
    semiring = int(values[0, 0])
    n = values.shape[0] - 1
    stack = np.empty((n + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    depth, drawn = 1, 0
    while depth > 0:
        depth -= 1
        i, j = stack[depth]
        labels[i, j] = _label(semiring, spans, b, i, j, chart[1, i, j], _draw(uniform, drawn))
        if j > i + 1:
            split = choose(semiring, values, i, values, j, i + 1, j, 0, _draw(uniform, drawn + 1))
            stack[depth, 0], stack[depth, 1] = i, split
            stack[depth + 1, 0], stack[depth + 1, 1] = split, j
            depth += 2
        drawn += 2


@kernel
def _label(semiring: int, spans: Array, b: int, i: int, j: int, log: float, uniform: float) -> int:
    """The best label of a span, or one drawn in proportion to its weight; never one of weight zero."""
    chosen = 0
    remaining = uniform
    for label in range(spans.shape[3]):
        if semiring == MAX:
            if spans[b, i, j, label] == log:
                return label
            continue
        share = exp(spans[b, i, j, label] - log)
        if share > 0.0:
            chosen = label
            if remaining < share:
                break
            remaining -= share
    return chosen


@kernel
def _draw(uniform: Array, index: int) -> float:
    return uniform[index] if index < uniform.shape[0] else 0.0
