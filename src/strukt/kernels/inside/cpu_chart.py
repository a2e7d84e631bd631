"""The chart of binary trees over spans: what it holds is said in `strukt.kernels.inside.cpu`."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_semiring import MAX, PROBABILITY, Array, dot, one, weigh
from strukt.kernels.jit import exp, kernel

LOW, HIGH = 1e-100, 1e100
"""Where the values of a chart in probability space must lie."""


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
def load(semiring: int, spans: Array, b: int, logs: Array) -> float:
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
def fill(semiring: int, shift: float, chart: Array) -> bool:
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
