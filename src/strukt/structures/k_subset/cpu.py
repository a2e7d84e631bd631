"""Fused Numba kernels of subsets of bounded size: inside, outside, k best, samples.

The single best subset needs no kernel: the reference finds it by sorting. `cpu_coins` describes the algorithm of
the sums. The chart holds the tilt and the log-partition of each item of the batch.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.gradients import group_sums
from strukt.kernels.jit import inner, kernel
from strukt.kernels.memory import empty, no_events, zeros
from strukt.structures.k_subset import cpu_entropy, cpu_kbest
from strukt.structures.k_subset.cpu_coins import (
    advance,
    anchor,
    fill_rows,
    find_tilt,
    first_count,
    gains,
    last_count,
    toss,
    total_weight,
)
from strukt.structures.k_subset.cpu_run import run

derivative = cpu_entropy.derivative
entropy, entropy_gradient = cpu_entropy.entropy, cpu_entropy.entropy_gradient
surprise, surprise_gradient = cpu_entropy.surprise, cpu_entropy.surprise_gradient


def chart_shape(scores: Tensor, *others: Tensor) -> tuple[int, int]:
    """Return the shape of the chart, ``(batch, 2)``, in float64."""
    return len(scores), 2


def inside(
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart.

    Time O(n k) for each item of the batch and sizes up to k, or O(n (n - k)) for size k alone, if less.
    """
    chart = torch.from_numpy(empty((len(scores), 2)))
    run(_inside, scores, omitted, lengths, low, high, chart)
    return chart[:, 1].to(scores.dtype, copy=True), chart


def outside(
    scores: Tensor,
    omitted: Tensor,
    lengths: Tensor,
    low: Tensor,
    high: Tensor,
    weights: Tensor,
    chart: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the marginals of taking items ``(batch, n)``, and of leaving them out, times ``weights (batch,)``.

    The latter are ``(g, n)``, summed over the items of the batch that share a row of ``omitted (g, n)``.
    """
    taken, left = zeros(scores), zeros(scores)
    run(_outside, scores, omitted, lengths, low, high, weights, chart, taken, left)
    return taken, group_sums(left, len(omitted))


def kbest(
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """Return the k best events ``(batch, k, n)`` and scores ``(batch, k)``; O(n m + k n) for sizes up to m."""
    batch, n = scores.shape
    events = no_events(batch, k, n)
    result = torch.from_numpy(empty((batch, k)))
    run(cpu_kbest.kbest, scores, omitted, lengths, low, high, events, result)
    return events, result.to(scores.dtype)


def sample(
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Return samples ``(batch, count, n)`` and the log-partition ``(batch,)``; O(n) for each sample."""
    log_partition, chart = inside(scores, omitted, lengths, low, high)
    batch, n = scores.shape
    uniform = torch.rand(batch, count, n + 1, dtype=torch.float64)
    events = no_events(batch, count, n)
    run(_sample, scores, omitted, lengths, low, high, chart, uniform, events)
    return events, log_partition


@kernel
def _inside(
    scores: Array, omitted: Array, lengths: Array, low: Array, high: Array, most: int, chart: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write the tilt and the log-partition of each item of the batch to ``chart (batch, 2)``.

    The other arrays are ``scores (batch, n)``, ``omitted (g, n)``, and ``lengths``, ``low`` and ``high (batch,)``.
    ``most`` is at least the largest size.
    """
    gain, coins = np.empty(scores.shape[1]), np.empty((2, scores.shape[1]))
    rows, bounds = np.empty((2, most + 3)), np.empty(2, np.int64)
    for b in range(start, scores.shape[0], step):
        n = lengths[b]
        bounds[0], bounds[1] = low[b], high[b]
        chart[b, 0], chart[b, 1] = 0.0, -np.inf
        if not gains(scores, omitted, b, n, bounds, gain):
            continue
        tilt = find_tilt(gain, n, bounds)
        scale = toss(scores, omitted, b, n, bounds, tilt, gain, coins)
        rows[0, :3] = 0.0
        rows[0, 1] = 1.0
        for t in range(1, n + 1):
            advance(coins, t, n, bounds, rows, (t - 1) % 2, t % 2)
        chart[b, 0] = tilt
        chart[b, 1] = scale + np.log(total_weight(rows, n % 2, tilt, bounds))


@kernel
def _outside(
    scores: Array, omitted: Array, lengths: Array, low: Array, high: Array, most: int, weights: Array,
    chart: Array, taken: Array, left: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the probabilities of taking and of leaving out each item, times the weight of the batch item.

    Arrays: those of `_inside`, ``weights (batch,)``, and the results ``taken`` and ``left (batch, n)``.
    """
    size = scores.shape[1]
    gain, coins = np.empty(size), np.empty((2, size))
    rows, back, bounds = np.empty((size + 1, most + 3)), np.empty((2, most + 3)), np.empty(2, np.int64)
    for b in range(start, scores.shape[0], step):
        if chart[b, 1] == -np.inf:
            continue
        n, tilt = lengths[b], chart[b, 0]
        bounds[0], bounds[1] = low[b], high[b]
        gains(scores, omitted, b, n, bounds, gain)
        toss(scores, omitted, b, n, bounds, tilt, gain, coins)
        fill_rows(coins, n, bounds, rows)
        rate = weights[b] / total_weight(rows, n, tilt, bounds)
        back[n % 2, :] = 0.0
        for c in range(bounds[0], bounds[1] + 1):
            back[n % 2, c + 1] = exp(tilt * (c - anchor(tilt, bounds)))
        for t in range(n, 0, -1):
            with_it, without = _retreat(coins, t, n, bounds, rows, back)
            taken[b, t - 1], left[b, t - 1] = rate * with_it, rate * without


@inner
def _retreat(coins: Array, t: int, n: int, bounds: Array, rows: Array, back: Array) -> tuple[float, float]:
    """Return the weights of taking and of leaving out item t; write the backward sums before it to ``back``.

    Items count from 1. ``rows (n + 1, most + 3)`` are those of `fill_rows`; ``back (2, most + 3)`` holds in row t
    % 2 the weight of the size and of all choices after item t, for each count of the first t items.
    """
    source, target = t % 2, (t - 1) % 2
    left, taken = coins[0, t - 1], coins[1, t - 1]
    first, last = first_count(t - 1, n, bounds), last_count(t - 1, bounds)
    with_it, without = 0.0, 0.0
    for c in range(first, last + 1):
        one, none = taken * back[source, c + 2], left * back[source, c + 1]
        with_it += rows[t - 1, c + 1] * one
        without += rows[t - 1, c + 1] * none
        back[target, c + 1] = one + none
    back[target, first] = 0.0
    back[target, last + 2] = 0.0
    return with_it, without


@kernel
def _sample(
    scores: Array, omitted: Array, lengths: Array, low: Array, high: Array, most: int, chart: Array,
    uniform: Array, events: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Draw samples, ``events (batch, count, n)``; those of items without subsets are not written.

    Arrays: those of `_inside`, and random numbers from 0 to 1, ``uniform (batch, count, n + 1)``.
    """
    size = scores.shape[1]
    gain, coins = np.empty(size), np.empty((2, size))
    rows, bounds = np.empty((size + 1, most + 3)), np.empty(2, np.int64)
    for b in range(start, scores.shape[0], step):
        if chart[b, 1] == -np.inf:
            continue
        n, tilt = lengths[b], chart[b, 0]
        bounds[0], bounds[1] = low[b], high[b]
        gains(scores, omitted, b, n, bounds, gain)
        toss(scores, omitted, b, n, bounds, tilt, gain, coins)
        fill_rows(coins, n, bounds, rows)
        for k in range(uniform.shape[1]):
            _trace(coins, n, tilt, bounds, rows, uniform[b, k], events[b, k])


@inner
def _trace(
    coins: Array, n: int, tilt: float, bounds: Array, rows: Array, uniform: Array, event: Array
) -> None:
    """Draw one subset, ``event (n,)``: first its size, then whether each item is in it, from last to first.

    ``uniform (n + 1,)`` are random numbers from 0 to 1, the last one for the size.
    """
    remaining = uniform[n] * total_weight(rows, n, tilt, bounds)
    size = bounds[0]
    for c in range(bounds[0], bounds[1] + 1):
        weight = rows[n, c + 1] * exp(tilt * (c - anchor(tilt, bounds)))
        if weight > 0.0:
            size = c
            if remaining < weight:
                break
            remaining -= weight
    for t in range(n, 0, -1):
        with_it = coins[1, t - 1] * rows[t - 1, size]
        without = coins[0, t - 1] * rows[t - 1, size + 1]
        event[t - 1] = int(uniform[t - 1] * (with_it + without) < with_it)
        size -= event[t - 1]
