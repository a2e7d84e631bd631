"""Triton kernels of gains and of their gradients, which read scores on the support only."""

from __future__ import annotations

import triton
import triton.language as tl

LEAST = tl.constexpr(1e-280)
"""The least probability whose logarithm is computed; smaller ones are raised to it, so that nothing overflows."""


@triton.jit
def gain(scores, points, centres, alphas, result, d, stride, ALPHA: tl.constexpr, B: tl.constexpr):
    """Write the gain of a row in float64.

    Arrays: ``scores (rows, d)``, ``points (rows, d)``, ``centres (rows,)``, ``alphas (rows,)`` with a ``stride``,
    and ``result (rows,)``. ALPHA is 2, 1.5, or 0 to read an alpha for each row. B entries are read at a time.
    """
    row = tl.program_id(0).to(tl.int64)
    centre, alpha = tl.load(centres + row).to(tl.float64), ALPHA
    if ALPHA == 0.0:
        alpha = tl.load(alphas + row * stride).to(tl.float64)
    total = tl.zeros([B], tl.float64)
    for start in range(0, d, B):
        k = start + tl.arange(0, B)
        p = tl.load(points + row * d + k, k < d, 0.0).to(tl.float64)
        used = p != 0.0
        above = tl.load(scores + row * d + k, used, 0.0).to(tl.float64) - centre
        total += tl.where(used, p * (above - _deformed_log(tl.where(used, p, 1.0), alpha, ALPHA)), 0.0)
    tl.store(result + row, tl.sum(total, 0))


@triton.jit
def _deformed_log(p, alpha, ALPHA: tl.constexpr):
    """Return ``(p ** b - 1) / (b alpha)`` with b = alpha - 1, with its limits for b = 0 and inf."""
    if ALPHA == 2.0:
        return 0.5 * (p - 1.0)
    elif ALPHA == 1.5:
        return (tl.sqrt(p) - 1.0) / 0.75
    else:
        b, log = alpha - 1.0, tl.log(tl.where(p > LEAST, p, LEAST))
        u = b * log
        near = u * (1.0 + u * (1 / 2 + u * (1 / 6 + u * (1 / 24 + u * (1 / 120 + u * (1 / 720))))))
        change = tl.where(tl.abs(u) < 0.01, near, tl.exp(u) - 1.0)
        deformed = tl.where(b == 0.0, log, change / tl.where(b == 0.0, 1.0, b))
        return tl.where(b < float("inf"), deformed / alpha, 0.0)


@triton.jit
def residual(scales, points, targets, result, d, CLASS: tl.constexpr, B: tl.constexpr):
    """Write the points of a tile minus their targets, times the scale of the row.

    Arrays: ``scales (rows,)``, ``points (rows, d)``, ``result (rows, d)``, and ``targets``, which are classes
    ``(rows,)`` if CLASS, else points ``(rows, d)``.
    """
    row = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * B + tl.arange(0, B)
    point = tl.load(points + row * d + k, k < d, 0.0)
    scale = tl.load(scales + row).to(point.dtype)
    if CLASS:
        target = (k == tl.load(targets + row).to(tl.int32)).to(point.dtype)
    else:
        target = tl.load(targets + row * d + k, k < d, 0.0).to(point.dtype)
    tl.store(result + row * d + k, scale * (point - target), k < d)
