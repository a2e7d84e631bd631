"""Kernels of trees with codes: those of `strukt.kernels.inside`, with bits as features of a span.

The log of the summed weights of all codes of a span is a sum over its bits: of the larger score of the two values
and the log of a factor between 1 and 2. The product of the factors of at most 62 bits is far from any overflow, so
that a span takes one logarithm, however many bits it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.inside import cpu
from strukt.kernels.inside.cpu_chart import log_total, spread
from strukt.kernels.inside.cpu_derivative import differentiate
from strukt.kernels.jit import inner, kernel, leading, over_batch, own_exp, thread_count
from strukt.kernels.memory import empty, zeros

Array = npt.NDArray[Any]

LEAST = -1e30
"""Stands for the better of two scores of -inf, whose difference would be NaN."""


def chart_shape(positive: Tensor, negative: Tensor, lengths: Tensor) -> tuple[int, int, int, int]:
    """``(batch, 2, n + 1, n + 1)``; charts are of float64."""
    return cpu.chart_shape(positive, lengths, False)


def inside(positive: Tensor, negative: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and the chart of `strukt.kernels.inside.cpu`; time O(n^3 + n^2 m) for m bits."""
    spans = torch.from_numpy(empty(tuple(positive.shape[:3])))
    _run(_sum_codes, positive, negative, lengths, spans.numpy())
    log_partition, chart = cpu.inside(spans, lengths, False)
    return log_partition.to(positive.dtype), chart


def outside(
    positive: Tensor, negative: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """The probability of each value of each bit times the weight of its item: the shape of ``positive``."""
    shares = zeros(positive), zeros(negative)
    each = (_rows(share).numpy() for share in shares)
    _run(_outside, positive, negative, lengths, weights.contiguous().numpy(), chart.numpy(), *each)
    return shares


def derivative(
    positive: Tensor, negative: Tensor, lengths: Tensor, weights: Tensor,
    positive_direction: Tensor, negative_direction: Tensor, chart: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of <`outside`, directions> in the scores and in the weights; time O(n^3 + n^2 m) for m bits."""
    grads, weights_grad = (zeros(positive), zeros(negative)), zeros(weights)
    given = (_rows(each).numpy() for each in (positive_direction, negative_direction))
    found = (_rows(each).numpy() for each in grads)
    arrays = (weights.contiguous().numpy(), chart.numpy(), *given, *found, weights_grad.numpy())
    _run(_derivative, positive, negative, lengths, *arrays)
    return *grads, weights_grad


def kbest(positive: Tensor, negative: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best events and their scores; time O(n^3 + n^2 m + k n (n + m)) for m bits."""
    return cpu.kbest_of(torch.stack([negative, positive], -1), lengths, k)


def sample(positive: Tensor, negative: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Events ``(batch, count, n + 1, n + 1)`` drawn from the top downwards, and the log-partition."""
    log_partition, chart = inside(positive, negative, lengths)
    return cpu.sample_of(torch.stack([negative, positive], -1), lengths, chart, count), log_partition


def _rows(scores: Tensor) -> Tensor:
    """The bits of all spans that start at a fencepost in one row, which loops go through in vectors."""
    return scores.detach().contiguous().flatten(2)


def _run(
    function: Callable[..., None], positive: Tensor, negative: Tensor, lengths: Tensor, *arrays: Array
) -> None:
    """Call ``function(positive, negative, bits, lengths, *arrays, start, step)`` on all threads."""
    batch, size, _, bits = positive.shape
    if batch and size > 1:
        threads = thread_count(batch, batch * size * size * bits)
        scores = (_rows(each).numpy() for each in (positive, negative))
        over_batch(function, threads, *scores, bits, lengths.detach().contiguous().numpy(), *arrays)


@kernel
def _sum_codes(
    positive: Array, negative: Array, bits: int, lengths: Array, spans: Array, start: int, step: int
) -> None:
    """The log of the summed weights of all codes of each span; entries that are no spans stay as they are."""
    width = positive.shape[2]
    tops, rests = np.empty(width, positive.dtype), np.empty(width, positive.dtype)
    products = np.empty(width // bits)
    for b in range(start, positive.shape[0], step):
        n = lengths[b]
        for i in range(n):
            first, last = (i + 1) * bits, (n + 1) * bits
            _compare(
                positive[b, i, first:last], negative[b, i, first:last], tops[first:last], rests[first:last]
            )
            for j in range(i + 1, n + 1):
                top, product = 0.0, 1.0
                for t in range(j * bits, (j + 1) * bits):
                    top += tops[t]
                    product *= 1.0 + rests[t]
                spans[b, i, j], products[j] = top, product
            for j in range(i + 1, n + 1):  # by themselves: logarithms in vectors
                spans[b, i, j] += np.log(products[j])


@inner
def _compare(positive: Array, negative: Array, tops: Array, rests: Array) -> None:
    """The better score of the two values of each bit, and the weight of the other value relative to that."""
    least = positive.dtype.type(LEAST)
    for t in range(positive.shape[0]):
        tops[t] = max(positive[t], negative[t])
        rests[t] = own_exp(min(positive[t], negative[t]) - max(tops[t], least))


@kernel
def _outside(
    positive: Array, negative: Array, bits: int, lengths: Array, weights: Array, chart: Array,
    positive_share: Array, negative_share: Array, start: int, step: int,
) -> None:  # fmt: skip
    size = positive.shape[1]
    room = np.empty((size, size))
    for b in range(start, positive.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        item = leading(chart[b], (2, n + 1, n + 1))
        if log_total(item) == -np.inf:
            continue
        mass = leading(room, (n + 1, n + 1))
        spread(item, mass)
        for i in range(n):
            first, last = (i + 1) * bits, (n + 1) * bits
            _share_bits(
                positive[b, i, first:last], negative[b, i, first:last],
                positive_share[b, i, first:last], negative_share[b, i, first:last],
            )  # fmt: skip
            for j in range(i + 1, n + 1):
                total = positive.dtype.type(weights[b] * (mass[i, j] + mass[j, i]))
                for t in range(j * bits, (j + 1) * bits):
                    positive_share[b, i, t] *= total
                    negative_share[b, i, t] *= total


@inner
def _share_bits(positive: Array, negative: Array, positive_share: Array, negative_share: Array) -> None:
    """The probabilities of the two values of each bit, where its span is used."""
    tops, rests = negative_share, positive_share  # room for them, too
    _compare(positive, negative, tops, rests)
    for t in range(positive.shape[0]):
        better = 1 / (1 + rests[t])
        other = rests[t] * better
        above = positive[t] >= negative[t]
        positive_share[t] = better if above else other
        negative_share[t] = other if above else better


@kernel
def _derivative(
    positive: Array, negative: Array, bits: int, lengths: Array, weights: Array, chart: Array,
    positive_direction: Array, negative_direction: Array, positive_grad: Array, negative_grad: Array,
    weights_grad: Array, start: int, step: int,
) -> None:  # fmt: skip
    size = positive.shape[1]
    whole = np.empty((4, size, size))
    for b in range(start, positive.shape[0], step):
        n = lengths[b]
        if n == 0:
            continue
        item = leading(chart[b], (2, n + 1, n + 1))
        if log_total(item) == -np.inf:
            continue
        room = leading(whole, (4, n + 1, n + 1))
        own, mass, change = room[0], room[2], room[3]
        for i in range(n):
            first, last = (i + 1) * bits, (n + 1) * bits
            _share_bits(
                positive[b, i, first:last], negative[b, i, first:last],
                positive_grad[b, i, first:last], negative_grad[b, i, first:last],
            )  # fmt: skip
            for j in range(i + 1, n + 1):
                growth = 0.0
                for t in range(j * bits, (j + 1) * bits):
                    growth += positive_grad[b, i, t] * positive_direction[b, i, t]
                    growth += negative_grad[b, i, t] * negative_direction[b, i, t]
                own[i, j] = growth if item[1, i, j] > -np.inf else 0.0
        weights_grad[b] = differentiate(item, room)
        for i in range(n):
            for j in range(i + 1, n + 1):
                total = positive.dtype.type(weights[b] * (mass[i, j] + mass[j, i]))
                rest = positive.dtype.type(weights[b] * (change[i, j] + change[j, i]))
                for t in range(j * bits, (j + 1) * bits):
                    share, other = positive_grad[b, i, t], negative_grad[b, i, t]
                    apart = total * (positive_direction[b, i, t] - negative_direction[b, i, t])
                    positive_grad[b, i, t] = share * (rest + other * apart)
                    negative_grad[b, i, t] = other * (rest - share * apart)
