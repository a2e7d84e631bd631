"""Numbers that never underflow: weights, sums and shares in two rings, plain and extended.

*Plain* numbers are doubles. Where structures use one weight of each group, weights are probabilities within their
groups: no cell exceeds 1, and numbers that underflow are below 1e-308, while the total must exceed `SMALLEST`. In
other groups, a constant times the degree of each weight (see `Program`) is subtracted from its log, and all
numbers must lie between `LOW` and `HIGH`. *Extended* numbers have a mantissa from 1 to below 2 and an integer
exponent each: exact to rounding for scores of any size, without logarithms. An item with numbers out of the range
of plain ones is computed in extended ones.

Kernels take mantissas and exponents as two arrays, ``value`` and ``exponent (cells,)``, ``weight`` and ``power
(weights,)``, and for the terms of a row ``workspace`` and ``powers (terms,)``, which they overwrite. In plain
numbers the exponents of cells and weights are None, for which the compiler removes the code that uses them. A row
is passed as its columns (see `Program`); ``whole`` is the weight of the sum, ``each`` the first of those of terms.
Loops over runs count in unsigned integers: the compiler tests each signed index for being negative, which would
count from the end.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import binary_exponent, exp, power_of_two
from strukt.kernels.jit import inner, kept_apart

SMALLEST = 1e-200
"""The plain total below which an item is recomputed in extended numbers."""

LEAST = 1e-300
"""Below this, a plain cell has a negligible share in a total above `SMALLEST`."""

LEAST_ENTROPY = 1e-80
"""Plain entropies below this are recomputed: they lack the surprise of shares below 1e-308 / `SMALLEST`."""

LOW, HIGH = 1e-75, 1e75
"""The bounds of plain numbers that are not probabilities."""

NOTHING = -(1 << 61)
"""The exponent of 0: so low that three of them, plus any exponents of scores, fit into 64 bits."""

LOG_TWO = 0.6931471805599453


@inner
def load(
    weight_scores: Array, groups: Array, times: Array, degrees: Array, progress: int, constant: float,
    weight: Array, power: Array | None,
) -> tuple[float, float, int]:  # fmt: skip
    """Convert logs of weights to weights, shifted so that structures have scores near 0.

    Args:
        weight_scores: ``(weights,)``, the logs.
        groups: ``(groups + 1,)``, the offsets of groups of weights.
        times: ``(groups,)``, the number of weights of each group that a structure uses. If it is 1, the weights of
            the group become probabilities, or in extended numbers at most 1; else a constant times the degree is
            subtracted from the log of each.
        degrees: ``(weights,)``; see `Program`.
        progress: The sum of degrees of every structure.
        constant: The constant per degree; if NaN, it is the mean of the logs per degree of the first group that
            has degrees.
        weight: ``(weights,)``, the result: the weights, or their mantissas.
        power: ``(weights,)``, the result: the exponents; None in plain numbers.

    Returns:
        The total subtracted from the score of every structure, -inf if a group that all structures use has no
        possible weight; the constant; and the number of plain weights outside `LOW` to `HIGH`, zeros excluded.
    """
    kept_apart()
    shift, out_of_range = 0.0, 0
    for g in range(groups.shape[0] - 1):
        first, last = groups[g], groups[g + 1]
        logs, weights = weight_scores[first:last], weight[first:last]
        top = -np.inf
        for i in range(logs.shape[0]):
            top = max(top, logs[i])
        if top == -np.inf and times[g] > 0:
            return top, 0.0, 0
        if times[g] != 1:
            top = 0.0
            if np.isnan(constant):
                constant = _mean_of_logs(logs, degrees[first:last])
        rate = 0.0 if times[g] == 1 or np.isnan(constant) else constant
        if power is not None:
            for i in range(first, last):
                weight[i], power[i] = _split(weight_scores[i] - top - rate * degrees[i])
            shift += top
            continue
        total = 0.0
        for i in range(logs.shape[0]):
            weights[i] = exp(logs[i] - top - rate * degrees[first + i])
            total += weights[i]
        if times[g] == 1:
            weights /= total
            shift += top + np.log(total)
        else:
            out_of_range += count_out_of_range(weights, -np.inf, logs)
    if not np.isnan(constant):
        shift += constant * progress
    return shift, constant, out_of_range


@inner
def _mean_of_logs(logs: Array, degrees: Array) -> float:
    """Return the sum of the finite logs divided by that of their degrees; NaN if none of them has a degree.

    Weights of degree 0 are ignored.
    """
    total, count = 0.0, 0
    for i in range(logs.shape[0]):
        if logs[i] > -np.inf and degrees[i] > 0:
            total += logs[i]
            count += degrees[i]
    return total / count if count > 0 else np.nan


@inner
def count_out_of_range(numbers: Array, zero: float, logs: Array) -> int:
    """Return the number of entries outside the range in which a product of four neither overflows nor underflows.

    Entry i is exactly 0, and does not count, if ``logs[i]`` is ``zero``.
    """
    out_of_range = 0
    for i in range(numbers.shape[0]):
        out_of_range += int((numbers[i] > HIGH) | ((numbers[i] < LOW) & (logs[i] > zero)))
    return out_of_range


@inner
def _split(score: float) -> tuple[float, int]:
    """Return the exponential of a score as a mantissa from 1 to 2, or 0, and an exponent."""
    if score == -np.inf:
        return 0.0, NOTHING
    whole = np.floor(score * 1.4426950408889634)
    rest = (score - whole * 0.693147180369123816490) - whole * 1.90821492927058770002e-10
    return exp(rest), int(whole)


@inner
def scale(exponent: int) -> float:
    """Return two to the power of an exponent; 0 below normal numbers, and at most 2^1023."""
    return power_of_two(min(max(exponent, -1023), 1023))


@inner
def settled(mantissa: float, exponent: int) -> tuple[float, int]:
    """Return an extended number with its mantissa from 1 to below 2."""
    if mantissa == 0.0:
        return 0.0, NOTHING
    more = binary_exponent(mantissa)
    return mantissa * power_of_two(-more), exponent + more


@inner
def extended_sum(
    value: Array, exponent: Array, weight: Array, power: Array, left: int, right: int, each: int, count: int,
    workspace: Array, powers: Array,
) -> tuple[float, int]:  # fmt: skip
    """Return the sum of the terms of a row, without the weight of the sum, as mantissa and exponent.

    It is not `settled` yet.
    """
    _multiply(value, exponent, weight, power, left, right, each, count, workspace, powers)
    n, top, total = np.uint64(count), NOTHING, 0.0
    for k in range(n):
        top = max(top, powers[k])
    if top <= NOTHING // 2:
        return 0.0, NOTHING
    for k in range(n):
        total += workspace[k] * scale(powers[k] - top)
    return total, top


@inner
def _multiply(
    value: Array, exponent: Array, weight: Array, power: Array, left: int, right: int, each: int, count: int,
    workspace: Array, powers: Array,
) -> None:  # fmt: skip
    """Write the terms of a row: mantissas below 8 to ``workspace``, exponents to ``powers``."""
    a, b, c, n = np.uint64(left), np.uint64(right), np.uint64(each), np.uint64(count)
    for k in range(n):
        workspace[k] = value[a + k]
        powers[k] = exponent[a + k]
    if right >= 0:
        for k in range(n):
            workspace[k] *= value[b + k]
            powers[k] += exponent[b + k]
    if each >= 0:
        for k in range(n):
            workspace[k] *= weight[c + k]
            powers[k] += power[c + k]


@inner
def shares(
    value: Array, exponent: Array | None, weight: Array, power: Array | None, out: int, whole: int, left: int,
    right: int, each: int, count: int, workspace: Array, powers: Array,
) -> None:  # fmt: skip
    """Write the share of each term in the sum of its row, ``workspace (count,)``; 0 if the sum is negligible.

    The row has several terms; a single one may lack a second factor.
    """
    base = value[out] / weight[whole] if whole >= 0 and value[out] > 0.0 else value[out]
    a, b, c, n = np.uint64(left), np.uint64(right), np.uint64(each), np.uint64(count)
    rate = 1.0 / base if base >= LEAST else 0.0
    if exponent is None or power is None:
        if each < 0:
            for k in range(n):
                workspace[k] = rate * value[a + k] * value[b + k]
        elif right < 0:
            for k in range(n):
                workspace[k] = rate * value[a + k] * weight[c + k]
        else:
            for k in range(n):
                workspace[k] = rate * value[a + k] * value[b + k] * weight[c + k]
    else:
        _multiply(value, exponent, weight, power, left, right, each, count, workspace, powers)
        top = exponent[out] - (power[whole] if whole >= 0 else 0)
        for k in range(n):
            workspace[k] *= rate * scale(powers[k] - top)


@inner
def mean_of(workspace: Array, values: Array, first: int, count: int) -> float:
    """Return the sum over k < ``count`` of the share ``workspace[k]`` times ``values[first + k]``."""
    total, start = 0.0, np.uint64(first)
    for k in range(np.uint64(count)):
        total += workspace[k] * values[start + k]
    return total


@inner
def add_run(workspace: Array, values: Array, first: int, count: int) -> None:
    """Add ``workspace[k]`` to ``values[first + k]``, for each k < ``count``."""
    start = np.uint64(first)
    for k in range(np.uint64(count)):
        values[start + k] += workspace[k]


@inner
def add_from_run(values: Array, first: int, count: int, workspace: Array) -> None:
    """Add ``values[first + k]`` to ``workspace[k]``, for each k < ``count``."""
    start = np.uint64(first)
    for k in range(np.uint64(count)):
        workspace[k] += values[start + k]


@inner
def share_out(
    left: int, right: int, each: int, count: int, workspace: Array, cells: Array, weights: Array
) -> None:
    """Add ``workspace[k]``, for each term k of a row, to ``cells`` and ``weights`` at its factors."""
    add_run(workspace, cells, left, count)
    if right >= 0:
        add_run(workspace, cells, right, count)
    if each >= 0:
        add_run(workspace, weights, each, count)


@inner
def add_factors(
    left: int, right: int, each: int, count: int, cells: Array, weights: Array, workspace: Array
) -> None:
    """Add the entries of ``cells`` and ``weights`` at the factors of each term k of a row to ``workspace[k]``."""
    add_from_run(cells, left, count, workspace)
    if right >= 0:
        add_from_run(cells, right, count, workspace)
    if each >= 0:
        add_from_run(weights, each, count, workspace)


@inner
def take_logs(value: Array, exponent: Array | None, logs: Array) -> None:
    """Write the logarithm of each number to ``logs``; -inf for 0, and for plain numbers below `LEAST`."""
    kept_apart()
    for i in range(value.shape[0]):
        logs[i] = np.log(value[i]) if value[i] >= LEAST else -np.inf
        if exponent is not None and value[i] > 0.0:
            logs[i] += exponent[i] * LOG_TWO
