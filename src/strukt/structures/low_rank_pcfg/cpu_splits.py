"""The parts of the inside and outside passes that sum over split points, one sentence at a time.

A chart holds for each span of an item, those of one word first, the values of each rank as a left and as a right
child, the sums over its split points, the log of the scale of its values and their last divisor:
``(n (n + 1) / 2, 3 r + 2)``. Next to the chart, ``slack`` bounds the error of the values from numbers that
underflowed.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel, write

TINY = 1e-290
"""A bound on the sum of all terms of one value that underflow."""


@inner
def row_of(n: int, width: int, first: int) -> int:
    """Return the row of a span in a chart for n words."""
    return (width - 1) * (n + 1) - (width - 1) * width // 2 + first


@inner
def weigh_splits(chart: Array, n: int, i: int, width: int, shares: Array) -> float:
    """Write the weights of a span's split points, by the width of the left child; return their log-scale."""
    scale = chart.shape[1] - 2
    top = -np.inf
    for part in range(1, width):
        left, right = row_of(n, part, i), row_of(n, width - part, i + part)
        shares[part] = chart[left, scale] + chart[right, scale]
        top = max(top, shares[part])
    for part in range(1, width):
        shares[part] = exp(shares[part] - top)
    return top


@kernel
def sum_splits(
    chart: Array, slack: Array, lengths: Array, n: int, width: int, firsts: Array, sums: Array,
    top_slack: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the sums over the split points of a width's spans to ``sums``, and with log-scales to the chart.

    Bounds on their errors are written to ``slack``, and those of whole sentences to ``top_slack``.

    Arrays, for m spans of this width in the batch: ``chart (batch, rows, 3 r + 2)``, ``slack (batch, rows)``,
    ``lengths (batch,)``, ``firsts (batch,)``, the first row of each item in ``sums (m, r)``, and
    ``top_slack (batch,)``.
    """
    rank = sums.shape[1]
    shares = np.empty(n + 1)
    for b in range(start, len(chart), step):
        for i in range(lengths[b] + 1 - width):
            total, row = sums[firsts[b] + i], row_of(n, width, i)
            chart[b, row, 3 * rank] = weigh_splits(chart[b], n, i, width, shares)
            total[:] = 0.0
            error = 0.0
            for part in range(1, width):
                left, right = row_of(n, part, i), row_of(n, width - part, i + part)
                share = shares[part]
                error += share * (slack[b, left] + slack[b, right])
                if share > 0.0:
                    above, below = chart[b, left, :rank], chart[b, right, rank : 2 * rank]
                    for q in range(rank):
                        total[q] += share * above[q] * below[q]
            write(chart[b, row, 2 * rank : 3 * rank], total)
            slack[b, row] = error
            if width == lengths[b]:
                top_slack[b] = error


@kernel
def close(
    chart: Array, slack: Array, lengths: Array, n: int, width: int, firsts: Array, values: Array,
    tops: Array, factors: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the values of a width's spans to the chart, divided by their maximum, which is their last divisor.

    Arrays, for m spans of this width: ``values (m, 2 r)``, the values before; ``tops (m,)``, the logs of the
    scales divided out of them; ``factors (g,)``, for each grammar the factor by which errors grow from sums to
    values; ``chart``, ``slack``, ``lengths`` and ``firsts`` as in `sum_splits`.
    """
    batch, rank = len(chart), values.shape[1] // 2
    for b in range(start, batch, step):
        factor = factors[b * len(factors) // batch]
        for i in range(lengths[b] + 1 - width):
            result, row = values[firsts[b] + i], row_of(n, width, i)
            peak = 0.0
            for q in range(2 * rank):
                peak = max(peak, result[q])
            if peak == 0.0:
                peak = 1.0  # no tree, or one that underflowed, which the slack knows
            for q in range(2 * rank):
                chart[b, row, q] = result[q] / peak
            chart[b, row, 3 * rank] += tops[firsts[b] + i] + np.log(peak)
            chart[b, row, 3 * rank + 1] = peak
            slack[b, row] = (slack[b, row] * factor + TINY) / peak


@kernel
def open_spans(
    chart: Array, slopes: Array, lengths: Array, n: int, width: int, firsts: Array, rows: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Convert derivatives with respect to the values of a width's spans to those before division, in place.

    They are also written to ``rows``. Arrays: ``chart (batch, rows, 3 r + 2)``, ``slopes (batch, rows, 2 r)``,
    ``lengths`` and ``firsts (batch,)``, and ``rows (m, 2 r)`` for m spans.
    """
    columns = slopes.shape[2]
    for b in range(start, len(chart), step):
        for i in range(lengths[b] + 1 - width):
            row = row_of(n, width, i)
            peak = chart[b, row, chart.shape[2] - 1]
            for q in range(columns):
                slopes[b, row, q] /= peak
                rows[firsts[b] + i, q] = slopes[b, row, q]


@kernel
def to_children(
    chart: Array, slopes: Array, lengths: Array, n: int, width: int, firsts: Array, sums: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Add the derivatives of the children of a width's spans to ``slopes``, from those of sums over split points.

    Arrays: ``sums (m, r)``, the derivatives of the sums of m spans; the others as in `open_spans`.
    """
    rank = sums.shape[1]
    shares = np.empty(n + 1)
    for b in range(start, len(chart), step):
        for i in range(lengths[b] + 1 - width):
            slope = sums[firsts[b] + i]
            weigh_splits(chart[b], n, i, width, shares)
            for part in range(1, width):
                left, right = row_of(n, part, i), row_of(n, width - part, i + part)
                share = shares[part]
                if share > 0.0:
                    above, below = chart[b, left, :rank], chart[b, right, rank : 2 * rank]
                    to_left, to_right = slopes[b, left, :rank], slopes[b, right, rank:]
                    for q in range(rank):
                        weighted = share * slope[q]
                        to_left[q] += weighted * below[q]
                        to_right[q] += weighted * above[q]


@kernel
def narrow(rows: Array, smallest: float, scaled: Array, tops: Array) -> bool:
    """Write rows in single precision, divided by their largest absolute values.

    Return False, with the result incomplete, if a nonzero entry becomes less than ``smallest``. Arrays: ``rows``
    and ``scaled``, the result, ``(m, d)``; ``tops (m,)``, the largest absolute values.
    """
    for i in range(len(rows)):
        top = 0.0
        for q in range(rows.shape[1]):
            top = max(top, abs(rows[i, q]))
        tops[i] = top
        factor, small = 1.0 / (top if top > 0.0 else 1.0), 0
        for q in range(rows.shape[1]):
            value = rows[i, q] * factor
            small |= (value != 0.0) & (abs(value) < smallest)
            scaled[i, q] = value
        if small:
            return False
    return True
