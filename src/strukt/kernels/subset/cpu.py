"""Fused Numba kernels of subsets of bounded size: inside, outside, samples. The best subset is found by sorting.

Items are taken in one after another, and a row holds the probability of each number of items taken so far, as if
all items were independent coins. A constant, the tilt, is subtracted from each score such that the coins give k
items on average, or the bound nearest to what they give without. The number that they give on average they also
give most often (Darroch 1964), with a probability of at least 1 / (n + 1): the sum is never small, and what
underflows on the way to it could not be seen in it. So the loops need no logs, however large the scores are.

Row t holds the number c in column c + 1, from those that can still reach the smallest size to the largest, with a
0 on both sides. The chart holds for each item of the batch the tilt and the log-partition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.jit import exp, kernel, over_batch, thread_count
from strukt.kernels.memory import empty, no_events, zeros
from strukt.kernels.subset import cpu_kbest
from strukt.kernels.subset.reference import largest

Array = npt.NDArray[Any]

CLOSE = 0.1
"""How far the expected number of items may lie from the one wanted."""

FAR = 40.0
"""A coin whose score lies so far from the tilt always falls on the same side."""


def chart_shape(scores: Tensor, *others: Tensor) -> tuple[int, int]:
    """``(batch, 2)``; charts are of float64."""
    return len(scores), 2


def inside(
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n k), or O(n (n - k)) if that is less, items in parallel."""
    chart = torch.from_numpy(empty((len(scores), 2)))
    _run(_inside, scores, omitted, lengths, low, high, chart.numpy())
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
    """The probability of taking and of leaving out each item, times the weight of its batch item."""
    taken, left = zeros(scores), zeros(scores)
    arrays = (weights.contiguous().numpy(), chart.numpy(), taken.numpy(), left.numpy())
    _run(_outside, scores, omitted, lengths, low, high, *arrays)
    shared = left.reshape(len(omitted), len(scores) // max(len(omitted), 1), scores.shape[1])
    return taken, left if len(omitted) == len(scores) else shared.sum(1)


def kbest(
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """The k best events ``(batch, k, n)`` and their scores ``(batch, k)``; time O(n m + k n) for sizes up to m."""
    batch, n = scores.shape
    events = no_events(batch, k, n)
    found = torch.from_numpy(empty((batch, k)))
    _run(cpu_kbest.kbest, scores, omitted, lengths, low, high, events.numpy(), found.numpy())
    return events, found.to(scores.dtype)


def sample(
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Events ``(batch, count, n)``, drawn from the last item to the first, O(n) each; and the log-partition."""
    log_partition, chart = inside(scores, omitted, lengths, low, high)
    batch, n = scores.shape
    uniform = torch.rand(batch, count, n + 1, dtype=torch.float64)
    events = no_events(batch, count, n)
    _run(_sample, scores, omitted, lengths, low, high, chart.numpy(), uniform.numpy(), events.numpy())
    return events, log_partition


def _run(
    function: Callable[..., None],
    scores: Tensor, omitted: Tensor, lengths: Tensor, low: Tensor, high: Tensor, *arrays: Array,
) -> None:  # fmt: skip
    """Call ``function(scores, omitted, lengths, low, high, most, *arrays, start, step)`` on all threads."""
    given = [value.detach().contiguous().numpy() for value in (scores, omitted, lengths, low, high)]
    batch, n = scores.shape
    most = largest(high, n)
    over_batch(function, thread_count(batch, batch * n * (most + 10)), *given, most, *arrays)


@kernel
def _gains(scores: Array, omitted: Array, b: int, n: int, bounds: Array, gain: Array) -> bool:
    """What taking each item rather than leaving it out adds; tightens the bounds; whether any subset is left."""
    shared = b // (scores.shape[0] // omitted.shape[0])
    required, possible, impossible = 0, 0, 0
    for i in range(n):
        taken, left = np.float64(scores[b, i]), np.float64(omitted[shared, i])
        required += int(left == -np.inf)
        possible += int(taken > -np.inf)
        impossible += int((taken == -np.inf) & (left == -np.inf))
        gain[i] = taken - left if left > -np.inf else np.inf
    bounds[0] = max(bounds[0], required)
    bounds[1] = min(bounds[1], possible)
    return impossible == 0 and bounds[0] <= bounds[1]


@kernel
def _expected(gain: Array, n: int, tilt: float) -> tuple[float, float]:
    """Mean and variance of the number of items taken."""
    mean, variance = 0.0, 0.0
    for i in range(n):
        z = gain[i] - tilt
        e = exp(-abs(z))
        share = e / (1.0 + e)
        mean += 1.0 - share if z > 0.0 else share
        variance += share * (1.0 - share)
    return mean, variance


@kernel
def _find_tilt(gain: Array, n: int, bounds: Array) -> float:
    """The tilt at which the mean is the nearest bound; 0 if the mean lies between them. Newton's method."""
    mean, variance = _expected(gain, n, 0.0)
    target = min(max(mean, float(bounds[0])), float(bounds[1]))
    smallest, biggest, certain, free = np.inf, -np.inf, 0, 0
    for i in range(n):
        if abs(gain[i]) < np.inf:
            smallest, biggest, free = min(smallest, gain[i]), max(biggest, gain[i]), free + 1
        certain += int(gain[i] == np.inf)
    if free == 0 or mean == target:
        return 0.0
    if target <= certain:
        return biggest + FAR
    if target >= certain + free:
        return smallest - FAR
    first, last = smallest - FAR, biggest + FAR
    tilt = 0.0 if first < 0.0 < last else 0.5 * (first + last)
    for _ in range(200):
        mean, variance = _expected(gain, n, tilt)
        if abs(mean - target) < CLOSE:
            break
        if mean > target:
            first = tilt
        else:
            last = tilt
        tilt = tilt + (mean - target) / variance if variance > 1e-3 else first
        if not first < tilt < last:
            tilt = 0.5 * (first + last)
    return tilt


@kernel
def _anchor(tilt: float, bounds: Array) -> int:
    """The size at which the tilt holds the mean; at all others it makes the weights smaller."""
    return bounds[1] if tilt > 0.0 else bounds[0]  # type: ignore[no-any-return]


@kernel
def _toss(
    scores: Array, omitted: Array, b: int, n: int, bounds: Array, tilt: float, gain: Array, coins: Array
) -> float:
    """Probabilities of leaving out and taking each item; the log of weight over probability at the anchor."""
    shared = b // (scores.shape[0] // omitted.shape[0])
    log, product, heads = 0.0, 1.0, 0
    for i in range(n):
        z = gain[i] - tilt
        e = exp(-abs(z))
        many, few = 1.0 / (1.0 + e), e / (1.0 + e)
        coins[0, i], coins[1, i] = (few, many) if z > 0.0 else (many, few)
        log += scores[b, i] if z > 0.0 else omitted[shared, i]
        heads += int(z > 0.0)
        product *= 1.0 + e
        if product > 1e250:
            log += np.log(product)
            product = 1.0
    return log + np.log(product) + tilt * (_anchor(tilt, bounds) - heads)  # type: ignore[no-any-return]


@kernel
def _first(t: int, n: int, bounds: Array) -> int:
    """The smallest number of the first t items with which the smallest size can be reached."""
    return max(0, bounds[0] - (n - t))  # type: ignore[no-any-return]


@kernel
def _last(t: int, bounds: Array) -> int:
    return min(t, bounds[1])  # type: ignore[no-any-return]


@kernel
def _advance(coins: Array, t: int, n: int, bounds: Array, rows: Array, source: int, target: int) -> None:
    """The row of the first t items from that of one less."""
    left, taken = coins[0, t - 1], coins[1, t - 1]
    first, last = _first(t, n, bounds), _last(t, bounds)
    for c in range(first, last + 1):
        rows[target, c + 1] = left * rows[source, c + 1] + taken * rows[source, c]
    rows[target, first] = 0.0
    rows[target, last + 2] = 0.0


@kernel
def _fill(coins: Array, n: int, bounds: Array, rows: Array) -> None:
    """All rows ``(n + 1, most + 3)``."""
    rows[0, :3] = 0.0
    rows[0, 1] = 1.0
    for t in range(1, n + 1):
        _advance(coins, t, n, bounds, rows, t - 1, t)


@kernel
def _total(rows: Array, t: int, tilt: float, bounds: Array) -> float:
    """The weight of all sizes within the bounds, relative to that of the anchor."""
    total = 0.0
    for c in range(bounds[0], bounds[1] + 1):
        total += rows[t, c + 1] * exp(tilt * (c - _anchor(tilt, bounds)))
    return total


@kernel
def _inside(
    scores: Array, omitted: Array, lengths: Array, low: Array, high: Array, most: int, chart: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    gain, coins = np.empty(scores.shape[1]), np.empty((2, scores.shape[1]))
    rows, bounds = np.empty((2, most + 3)), np.empty(2, np.int64)
    for b in range(start, scores.shape[0], step):
        n = lengths[b]
        bounds[0], bounds[1] = low[b], high[b]
        chart[b, 0], chart[b, 1] = 0.0, -np.inf
        if not _gains(scores, omitted, b, n, bounds, gain):
            continue
        tilt = _find_tilt(gain, n, bounds)
        scale = _toss(scores, omitted, b, n, bounds, tilt, gain, coins)
        rows[0, :3] = 0.0
        rows[0, 1] = 1.0
        for t in range(1, n + 1):
            _advance(coins, t, n, bounds, rows, (t - 1) % 2, t % 2)
        chart[b, 0] = tilt
        chart[b, 1] = scale + np.log(_total(rows, n % 2, tilt, bounds))


@kernel
def _outside(
    scores: Array, omitted: Array, lengths: Array, low: Array, high: Array, most: int, weights: Array,
    chart: Array, taken: Array, left: Array, start: int, step: int,
) -> None:  # fmt: skip
    size = scores.shape[1]
    gain, coins = np.empty(size), np.empty((2, size))
    rows, back, bounds = np.empty((size + 1, most + 3)), np.empty((2, most + 3)), np.empty(2, np.int64)
    for b in range(start, scores.shape[0], step):
        if chart[b, 1] == -np.inf:
            continue
        n, tilt = lengths[b], chart[b, 0]
        bounds[0], bounds[1] = low[b], high[b]
        _gains(scores, omitted, b, n, bounds, gain)
        _toss(scores, omitted, b, n, bounds, tilt, gain, coins)
        _fill(coins, n, bounds, rows)
        rate = weights[b] / _total(rows, n, tilt, bounds)
        back[n % 2, :] = 0.0
        for c in range(bounds[0], bounds[1] + 1):
            back[n % 2, c + 1] = exp(tilt * (c - _anchor(tilt, bounds)))
        for t in range(n, 0, -1):
            with_it, without = _retreat(coins, t, n, bounds, rows, back)
            taken[b, t - 1], left[b, t - 1] = rate * with_it, rate * without


@kernel
def _retreat(coins: Array, t: int, n: int, bounds: Array, rows: Array, back: Array) -> tuple[float, float]:
    """The weights of taking and of leaving out item t; fills the row of what the items from t on can add."""
    source, target = t % 2, (t - 1) % 2
    left, taken = coins[0, t - 1], coins[1, t - 1]
    first, last = _first(t - 1, n, bounds), _last(t - 1, bounds)
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
    size = scores.shape[1]
    gain, coins = np.empty(size), np.empty((2, size))
    rows, bounds = np.empty((size + 1, most + 3)), np.empty(2, np.int64)
    for b in range(start, scores.shape[0], step):
        if chart[b, 1] == -np.inf:
            continue
        n, tilt = lengths[b], chart[b, 0]
        bounds[0], bounds[1] = low[b], high[b]
        _gains(scores, omitted, b, n, bounds, gain)
        _toss(scores, omitted, b, n, bounds, tilt, gain, coins)
        _fill(coins, n, bounds, rows)
        for k in range(uniform.shape[1]):
            _trace(coins, n, tilt, bounds, rows, uniform[b, k], events[b, k])


@kernel
def _trace(
    coins: Array, n: int, tilt: float, bounds: Array, rows: Array, uniform: Array, event: Array
) -> None:
    """One subset: first its size, then whether each item is in it, from the last one to the first."""
    remaining = uniform[n] * _total(rows, n, tilt, bounds)
    size = bounds[0]
    for c in range(bounds[0], bounds[1] + 1):
        weight = rows[n, c + 1] * exp(tilt * (c - _anchor(tilt, bounds)))
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
