"""The chart of binary trees over spans: what it holds is said in `strukt.kernels.inside.cpu`."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_semiring import LOG, MAX, PROBABILITY, Array, dot, one, push, weigh, zero
from strukt.kernels.jit import exp, inner, kernel, own_exp

LOW, HIGH = 1e-100, 1e100
"""Where the values of a chart in probability space must lie."""


@inner
def _sum_labels(spans: Array, b: int, i: int, j: int) -> tuple[float, float]:
    """The best score of a span, and the sum of its labels relative to that."""
    labels = spans.shape[3]
    top = spans[b, i, j, 0]
    for label in range(1, labels):
        top = max(top, spans[b, i, j, label])
    if labels == 1 or top == -np.inf:
        return np.float64(top), 1.0
    total = spans.dtype.type(0.0)
    for label in range(labels):
        total += own_exp(spans[b, i, j, label] - top)
    return np.float64(top), np.float64(total)


@kernel
def load(semiring: int, spans: Array, b: int, logs: Array) -> float:
    """Logs of ``own`` above the diagonal; gives their mean over the spans that are not forbidden."""
    size = logs.shape[0]
    tops, totals = np.empty(size), np.empty(size)
    whole, count = 0.0, 0
    for i in range(size - 1):
        for j in range(i + 1, size):
            tops[j], totals[j] = _sum_labels(spans, b, i, j)
        for j in range(i + 1, size):  # by themselves: logarithms in vectors
            logs[i, j] = tops[j] if semiring == MAX else tops[j] + np.log(totals[j])
        for j in range(i + 1, size):
            if tops[j] > -np.inf:
                whole += logs[i, j]
                count += 1
    return whole / count if count > 0 else 0.0


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
def fill(semiring: int, shift: float, chart: Array) -> bool:
    """Inside values of all spans; whether none could underflow."""
    values, logs = chart[0], chart[1]
    lost = 0
    if semiring == PROBABILITY:
        lost = _weigh(shift, logs, values)
    else:
        values[:, :] = logs
    values[0, 0], logs[0, 0] = float(semiring), shift
    if semiring == LOG:
        _fill_by_width(chart)
    else:
        lost += _fill_by_row(semiring, chart)
    return lost == 0 or semiring != PROBABILITY


@inner
def _fill_by_row(semiring: int, chart: Array) -> int:
    """In probability space, or of best scores, from the last start on; gives the number that could underflow.

    A finished span adds to all longer ones that start with it, in vectors.
    """
    values, logs = chart[0], chart[1]
    size = values.shape[0]
    sums = np.empty(size)
    lost = 0
    for i in range(size - 2, -1, -1):
        sums[:] = zero(semiring)
        sums[i + 1] = one(semiring)
        for j in range(i + 1, size):
            value = weigh(semiring, sums[j], values[i, j])
            logs[j, i] = sums[j]
            values[i, j] = values[j, i] = value
            lost += int((value > HIGH) | ((value < LOW) & (value > 0.0)))
            if semiring == PROBABILITY:
                for k in range(j + 1, size):
                    sums[k] += value * values[j, k]
            else:
                for k in range(j + 1, size):
                    sums[k] = max(sums[k], value + values[j, k])
    return lost


@inner
def _fill_by_width(chart: Array) -> None:
    """Of logs, from narrow to wide."""
    values, logs = chart[0], chart[1]
    size = values.shape[0]
    for width in range(1, size):
        for i in range(size - width):
            j = i + width
            logs[j, i] = 0.0 if width == 1 else dot(LOG, values, i, values, j, i + 1, j, 0)
            values[i, j] = values[j, i] = logs[j, i] + values[i, j]


@inner
def better_shift(shift: float, chart: Array) -> float:
    """The constant that keeps spans near 1, judged by the widest at the start that did not leave the range."""
    values = chart[0]
    width = values.shape[0] - 1
    while width > 1 and not LOW < values[0, width] < HIGH:
        width -= 1
    value = values[0, width]
    return shift + np.log(value) / (2 * width - 1) if value > 0.0 else shift


@kernel
def log_total(chart: Array) -> float:
    """The log of the total in a chart."""
    values, shift = chart[0], chart[1, 0, 0]
    n = values.shape[0] - 1
    top = values[0, n]
    if values[0, 0] == PROBABILITY:
        top = np.log(top) if top > 0.0 else -np.inf
    return top + (2 * n - 1) * shift  # type: ignore[no-any-return]


@kernel
def spread(chart: Array, mass: Array) -> None:
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
