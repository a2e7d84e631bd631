"""Numbers that never underflow: weights, sums and shares in two rings.

*Plain* numbers are doubles. Weights are probabilities within their groups, so that no cell exceeds 1, and what
underflows is below 1e-308 of a total that must itself exceed `SMALLEST`. *Extended* numbers have a mantissa from 1
to below 2 and an integer exponent each: exact to rounding, whatever the scores, without logarithms. An item whose
total is too small in plain numbers is done again in extended ones.

Kernels take mantissas and exponents as two arrays. In plain numbers there are no exponents, and None in their
place makes the compiler leave out all that concerns them. Loops over runs count in unsigned integers: a signed
index could be below 0 and stand for one from the end, which would be looked at each time.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.engine.program import Array
from strukt.kernels.jit import binary_exponent, exp, inner, kept_apart, kernel, power_of_two

SMALLEST = 1e-200
"""Plain totals below this are done again."""

LEAST = 1e-300
"""Plain cells below this have no share in a total above `SMALLEST`."""

NOTHING = -(1 << 61)
"""The exponent of 0: so low that three of them, and any exponents of scores, stay within 64 bits."""

LOG_TWO = 0.6931471805599453


@kernel
def load(scores: Array, places: Array, groups: Array, weight: Array, power: Array | None) -> float:
    """Weights of scores; gives the log of what the weights of every structure were divided by.

    Args:
        scores: ``(d,)``, the main scores of an item.
        places: ``(weights,)``, where among them each weight's score is.
        groups: Where groups of weights begin.
        weight: ``(weights,)``, gets the weights, or their mantissas.
        power: ``(weights,)``, gets the exponents; None in plain numbers.
    """
    kept_apart()
    shift = 0.0
    for g in range(groups.shape[0] - 1):
        first, last = groups[g], groups[g + 1]
        own = weight[first:last]
        top = -np.inf
        for i in range(own.shape[0]):
            own[i] = scores[places[first + i]]
            top = max(top, own[i])
        if top == -np.inf:
            return top
        shift += top
        if power is None:
            total = 0.0
            for i in range(own.shape[0]):
                own[i] = exp(own[i] - top)
                total += own[i]
            own /= total
            shift += np.log(total)
        else:
            for i in range(first, last):
                weight[i], power[i] = _split(weight[i] - top)
    return shift


@inner
def _split(score: float) -> tuple[float, int]:
    """The exponential of a score as mantissa and exponent."""
    if score == -np.inf:
        return 0.0, NOTHING
    whole = np.floor(score * 1.4426950408889634)
    rest = (score - whole * 0.693147180369123816490) - whole * 1.90821492927058770002e-10
    return exp(rest), int(whole)


@inner
def scale(exponent: int) -> float:
    """Two to the power of an exponent up to 1023; 0 where that is no normal number."""
    return power_of_two(max(exponent, -1023))


@inner
def settled(mantissa: float, exponent: int) -> tuple[float, int]:
    """An extended number with its mantissa from 1 to below 2."""
    if mantissa == 0.0:
        return 0.0, NOTHING
    more = binary_exponent(mantissa)
    return mantissa * power_of_two(-more), exponent + more


@inner
def extended_sum(
    value: Array, exponent: Array, weight: Array, power: Array, left: int, right: int, each: int, count: int,
    room: Array, powers: Array,
) -> tuple[float, int]:  # fmt: skip
    """The sum of the terms of a row, not settled; ``room`` and ``powers`` are for the terms."""
    _multiply(value, exponent, weight, power, left, right, each, count, room, powers)
    n, top, total = np.uint64(count), NOTHING, 0.0
    for k in range(n):
        top = max(top, powers[k])
    if top <= NOTHING // 2:
        return 0.0, NOTHING
    for k in range(n):
        total += room[k] * scale(powers[k] - top)
    return total, top


@inner
def _multiply(
    value: Array, exponent: Array, weight: Array, power: Array, left: int, right: int, each: int, count: int,
    room: Array, powers: Array,
) -> None:  # fmt: skip
    """The terms of a row, as mantissas up to 8 and exponents."""
    a, b, c, n = np.uint64(left), np.uint64(right), np.uint64(each), np.uint64(count)
    for k in range(n):
        room[k] = value[a + k]
        powers[k] = exponent[a + k]
    if right >= 0:
        for k in range(n):
            room[k] *= value[b + k]
            powers[k] += exponent[b + k]
    if each >= 0:
        for k in range(n):
            room[k] *= weight[c + k]
            powers[k] += power[c + k]


@inner
def shares(
    value: Array, exponent: Array | None, weight: Array, power: Array | None, out: int, whole: int, left: int,
    right: int, each: int, count: int, room: Array, powers: Array,
) -> None:  # fmt: skip
    """The share of each term of a row in its sum, ``room (count,)``; all 0 where that is as good as nothing."""
    base = value[out] / weight[whole] if whole >= 0 and value[out] > 0.0 else value[out]
    a, b, c, n = np.uint64(left), np.uint64(right), np.uint64(each), np.uint64(count)
    rate = 1.0 / base if base >= LEAST else 0.0
    if exponent is None or power is None:
        if each < 0:
            for k in range(n):
                room[k] = rate * value[a + k] * value[b + k]
        elif right < 0:
            for k in range(n):
                room[k] = rate * value[a + k] * weight[c + k]
        else:
            for k in range(n):
                room[k] = rate * value[a + k] * value[b + k] * weight[c + k]
    else:
        _multiply(value, exponent, weight, power, left, right, each, count, room, powers)
        top = exponent[out] - (power[whole] if whole >= 0 else 0)
        for k in range(n):
            room[k] *= rate * scale(powers[k] - top)


@inner
def mean_of(room: Array, values: Array, first: int, count: int) -> float:
    """The sum of a run of values, each times what ``room`` holds for its term."""
    total, start = 0.0, np.uint64(first)
    for k in range(np.uint64(count)):
        total += room[k] * values[start + k]
    return total


@inner
def add_run(room: Array, values: Array, first: int, count: int) -> None:
    """Add to a run of values what ``room`` holds for each term."""
    start = np.uint64(first)
    for k in range(np.uint64(count)):
        values[start + k] += room[k]


@inner
def add_from_run(values: Array, first: int, count: int, room: Array) -> None:
    """Add a run of values to ``room``."""
    start = np.uint64(first)
    for k in range(np.uint64(count)):
        room[k] += values[start + k]


@inner
def share_out(left: int, right: int, each: int, count: int, room: Array, cells: Array, weights: Array) -> None:
    """Add to all factors of the terms of a row what ``room`` holds for each term."""
    add_run(room, cells, left, count)
    if right >= 0:
        add_run(room, cells, right, count)
    if each >= 0:
        add_run(room, weights, each, count)


@inner
def add_factors(left: int, right: int, each: int, count: int, cells: Array, weights: Array, room: Array) -> None:
    """Add to ``room`` what the factors of each term of a row have together."""
    add_from_run(cells, left, count, room)
    if right >= 0:
        add_from_run(cells, right, count, room)
    if each >= 0:
        add_from_run(weights, each, count, room)


@kernel
def take_logs(value: Array, exponent: Array | None, logs: Array) -> None:
    """The logarithm of each number; -inf for 0."""
    kept_apart()
    for i in range(value.shape[0]):
        logs[i] = np.log(value[i]) if value[i] > 0.0 else -np.inf
        if exponent is not None and value[i] > 0.0:
            logs[i] += exponent[i] * LOG_TWO
