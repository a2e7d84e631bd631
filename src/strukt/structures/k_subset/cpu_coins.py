"""Subsets of bounded size as independent coins: the tilt that balances them, and the distribution of their counts.

Items are processed one after another; a row holds the probability of each number of items taken so far, as if all
items were independent coins (a Poisson binomial distribution: elementary symmetric polynomials, normalised). A
constant, the tilt, is subtracted from the gain of each item (the score of taking it minus that of leaving it out),
so that the mean count is within `CLOSE` of k, or of the bound nearest to the mean without a tilt. A mean that is
an integer is also the most frequent count (Darroch 1964), with a probability of at least 1 / (n + 1). The sum is
therefore never small, and terms that underflow are negligible in it: the loops need no logs, however large the
scores are.

Row t holds the probability of count c in column c + 1. Counts range from the smallest that can still reach the
smallest size to the largest, with a 0 on both sides.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel

CLOSE = 0.1
"""The largest difference between the expected number of items and the requested number."""

FAR = 40.0
"""A coin is as good as certain if its gain differs from the tilt by at least this much."""


@inner
def gains(scores: Array, omitted: Array, b: int, n: int, bounds: Array, gain: Array) -> bool:
    """Write the score gained by taking each of n items, ``gain (n,)``; return True if row b has a subset.

    ``scores (batch, n)`` are for taking items, and ``omitted (g, n)`` for leaving them out; batch / g consecutive
    rows share a row of ``omitted``. A gain is inf for an item that must be taken, and -inf for one that must not.
    The smallest and the largest size, ``bounds (2,)``, are tightened, in place, to those that forbidden scores
    permit.
    """
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
def expected(gain: Array, n: int, tilt: float) -> tuple[float, float]:
    """Return the mean and the variance of the number of items taken, if each of n items is a coin.

    ``gain (n,)`` minus the tilt is the log-odds of taking an item.
    """
    mean, variance = 0.0, 0.0
    for i in range(n):
        z = gain[i] - tilt
        e = exp(-abs(z))
        share = e / (1.0 + e)
        mean += 1.0 - share if z > 0.0 else share
        variance += share * (1.0 - share)
    return mean, variance


@kernel
def find_tilt(gain: Array, n: int, bounds: Array) -> float:
    """Return the tilt that moves the mean count to the nearest bound, up to `CLOSE`, by Newton's method.

    It is 0 if the mean is within the ``bounds (2,)`` without a tilt. ``gain`` is that of `expected`.
    """
    mean, variance = expected(gain, n, 0.0)
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
        mean, variance = expected(gain, n, tilt)
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


@inner
def anchor(tilt: float, bounds: Array) -> int:
    """Return the size whose weight the tilt leaves unchanged; no other size gets a larger weight than before."""
    return bounds[1] if tilt > 0.0 else bounds[0]  # type: ignore[no-any-return]


@inner
def toss(
    scores: Array, omitted: Array, b: int, n: int, bounds: Array, tilt: float, gain: Array, coins: Array
) -> float:
    """Write the probabilities of leaving out and of taking each item, ``coins (2, n)``.

    Return the log of the ratio of a subset's weight to its probability, for subsets of the size that `anchor`
    returns. The other arguments are those of `gains`, and the tilt.
    """
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
    return log + np.log(product) + tilt * (anchor(tilt, bounds) - heads)  # type: ignore[no-any-return]


@inner
def first_count(t: int, n: int, bounds: Array) -> int:
    """Return the smallest count of the first t items from which the smallest size can be reached."""
    return max(0, bounds[0] - (n - t))  # type: ignore[no-any-return]


@inner
def last_count(t: int, bounds: Array) -> int:
    """Return the largest count of the first t items that is no more than the largest size."""
    return min(t, bounds[1])  # type: ignore[no-any-return]


@inner
def advance(coins: Array, t: int, n: int, bounds: Array, rows: Array, source: int, target: int) -> None:
    """Write the row of the first t items, ``rows[target]``, from that of the first t - 1, ``rows[source]``."""
    left, taken = coins[0, t - 1], coins[1, t - 1]
    first, last = first_count(t, n, bounds), last_count(t, bounds)
    for c in range(first, last + 1):
        rows[target, c + 1] = left * rows[source, c + 1] + taken * rows[source, c]
    rows[target, first] = 0.0
    rows[target, last + 2] = 0.0


@inner
def fill_rows(coins: Array, n: int, bounds: Array, rows: Array) -> None:
    """Write the row of the first t items to ``rows[t]``, for t = 0 to n; ``rows`` is ``(n + 1, most + 3)``."""
    rows[0, :3] = 0.0
    rows[0, 1] = 1.0
    for t in range(1, n + 1):
        advance(coins, t, n, bounds, rows, t - 1, t)


@inner
def total_weight(rows: Array, row: int, tilt: float, bounds: Array) -> float:
    """Return the sum of the weights of all sizes within the bounds, divided by the ratio that `toss` returns.

    ``rows[row]`` holds the probabilities of the counts of all items. That ratio is of weight to probability at the
    anchor; at other sizes, the ratio differs by a power of the exponential of the tilt.
    """
    total = 0.0
    for c in range(bounds[0], bounds[1] + 1):
        total += rows[row, c + 1] * exp(tilt * (c - anchor(tilt, bounds)))
    return total
