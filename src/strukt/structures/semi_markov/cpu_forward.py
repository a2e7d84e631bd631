"""The forward pass over segmentations in scaled probability space; `cpu` says when it applies.

Weights of segments are relative to the scale at their start and to the largest weight at their end. Segments that
no path reaches are left out, so that no weight is far above 1.

For a training step, the table program takes 2.4 times as long (8 x 128 positions, segments up to 8, 16 labels), 3
times with 128 labels, and 1.2 times for one sentence of 20 positions.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import difference, exp
from strukt.kernels.jit import inner, kernel, scratch
from strukt.structures.linear_chain.cpu_weights import TINY, multiply

EMPTY, FILLED, UNDERFLOWED = 0.0, 1.0, 2.0
"""The states of a chart: EMPTY without segmentations or at length 0, FILLED with totals, UNDERFLOWED without valid
entries."""


@inner
def pages(chart: Array, n: int, c: int) -> tuple[Array, Array, Array]:
    """Split a chart into totals ``(n + 1, c)`` before segments, totals after segments, and scales ``(n + 1,)``.

    At position t and label j, the first is the total over paths that go on with a segment of label j at t, the
    second that over paths whose last segment ends at t with label j. Both are relative to exp(scale). The state of
    the chart is stored in its first entry: at position 0 no segment ends.
    """
    size = (n + 1) * c
    ends, starts = chart[:size].reshape(n + 1, c), chart[size : 2 * size].reshape(n + 1, c)
    return starts, ends, chart[2 * size : 2 * size + n + 1]


@inner
def _weigh_ends(
    segments: Array, end: int, entered: Array, scales: Array, base: float, tops: Array, logs: Array
) -> float:
    """Write the log-weights of the segments that end at ``end`` to ``logs``, their maxima to ``tops (c,)``.

    Entry d c + j of ``logs`` is for the segment of d + 1 positions with label j; its log-weight includes the scale
    at its start, minus ``base``. Maxima are by label. Return the maximum over all labels.
    """
    durations, c = min(segments.shape[1], end), segments.shape[2]
    tops[:] = -np.inf
    for d in range(durations):
        start = end - 1 - d
        scale = difference(scales[start], base)
        for j in range(c):
            log = segments[start, d, j] + scale
            log = log if entered[start, j] > 0.0 else -np.inf
            logs[d * c + j] = log
            tops[j] = max(tops[j], log)
    top = -np.inf
    for j in range(c):
        top = max(top, tops[j])
    return top


@inner
def exponentiate(logs: Array, count: int, top: float) -> None:
    """Replace the first ``count`` logs by exp(log - top), in place."""
    for i in range(count):
        logs[i] = exp(logs[i] - top)


@inner
def total_of(values: Array) -> float:
    """Return the sum of values ``(c,)``, added from the first to the last."""
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j]
    return total


@inner
def _normalise(values: Array, tops: Array, top: float) -> float:
    """Divide the values, times exp(top), by a power of e near their sum; return the exponent, an integer.

    Return NaN if a nonzero value could underflow, or did because the largest weight starts from a tiny total.
    """
    mass = total_of(values)
    if mass < TINY:
        return np.nan
    exponent = np.rint(top + np.log(mass))
    factor = exp(top - exponent)
    underflowed = 0
    for j in range(values.shape[0]):
        values[j] *= factor
        underflowed += int((values[j] < TINY) & (tops[j] > -np.inf))
    return exponent if underflowed == 0 else np.nan


@inner
def at_boundary(matrices: Array, position: int) -> Array:
    """Return the transition matrix of the boundary before a position; all boundaries may share one."""
    return matrices[min(position, matrices.shape[0]) - 1]  # type: ignore[no-any-return]


@inner
def shift_at(shifts: Array, position: int) -> float:
    """Return the shift of the transition weights at the boundary before a position."""
    return shifts[min(position, shifts.shape[0]) - 1]  # type: ignore[no-any-return]


@inner
def through(values: Array, matrix: Array, out: Array) -> None:
    """Write the product of a row ``(1, c)`` with a matrix ``(c, c)``, or ``(1, 1)`` for all pairs of labels."""
    if matrix.shape[0] == 1:
        out[0, :] = matrix[0, 0] * total_of(values[0])
    else:
        multiply(values, matrix, out)


@inner
def _forward_item(
    segments: Array, matrices: Array, shifts: Array, length: int, entered: Array, ended: Array, scales: Array
) -> float:
    """Write the chart of one item; return its log-partition, or NaN if probabilities could underflow.

    Args:
        segments: ``(n, k, c)``.
        matrices: ``(steps, c, c)``, the weights of transitions, exp(score - shift).
        shifts: ``(steps,)``; NaN if a weight of the matrix could underflow.
        length: The number of positions in use.
        entered: The totals before segments that start at each position; see `pages`.
        ended: The totals after segments that end at each position.
        scales: The scale of each position: the cumulative exponent, plus the shift of the boundary there except at
            the end.
    """
    k, c = segments.shape[1:]
    tops, logs = np.empty(c), scratch(1, k * c)[0]
    entered[0, :] = 1.0
    scales[0] = 0.0
    base = 0.0
    for end in range(1, length + 1):
        durations = min(k, end)
        top = _weigh_ends(segments, end, entered, scales, base, tops, logs)
        ended[end, :] = 0.0
        if top > -np.inf:
            exponentiate(logs, durations * c, top)
            for d in range(durations):
                for j in range(c):
                    ended[end, j] += entered[end - 1 - d, j] * logs[d * c + j]
            base += _normalise(ended[end], tops, top)
        scales[end] = base
        if end < length:
            scales[end] += shift_at(shifts, end)
            through(ended[end : end + 1], at_boundary(matrices, end), entered[end : end + 1])
        if np.isnan(scales[end]):
            return np.nan
    entered[length, :] = 0.0
    total = total_of(ended[length])
    return base + np.log(total) if total > 0.0 else -np.inf


@kernel
def forward(
    segments: Array, lengths: Array, matrices: Array, tops: Array, chart: Array, log_partition: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write log-partitions and charts; items that could underflow get a mark in the chart and log-partition 0.

    The states of all charts must be EMPTY before. ``matrices`` are the weights exp(transition - top).

    Arrays: ``segments (batch, n, k, c)``, ``lengths (batch,)``, ``matrices (g, steps, c, c)``, or ``(g, steps, 1,
    1)`` for all pairs of labels, ``tops (g, steps)``, ``chart (batch, (n + 1) (2 c + 1))`` and ``log_partition
    (batch,)``.
    """
    batch, _, _, c = segments.shape
    for b in range(start, batch, step):
        n = lengths[b]
        if n == 0:
            continue
        group = b * matrices.shape[0] // batch
        entered, ended, scales = pages(chart[b], n, c)
        total = _forward_item(segments[b], matrices[group], tops[group], n, entered, ended, scales)
        if np.isnan(total):
            chart[b, 0], log_partition[b] = UNDERFLOWED, 0.0
        else:
            chart[b, 0], log_partition[b] = FILLED if total > -np.inf else EMPTY, total
