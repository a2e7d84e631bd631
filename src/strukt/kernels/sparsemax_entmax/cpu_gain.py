"""Fused Numba kernels of gains and of their gradients, which skip pieces of a row without support."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp, log
from strukt.kernels.jit import inner, kernel, over_batch, rows_of, thread_count
from strukt.kernels.memory import empty
from strukt.kernels.sparsemax_entmax.cpu_backward import PIECE, any_bits

LEAST = 1e-280
"""The least probability whose logarithm is computed; smaller ones are raised to it, so that nothing overflows."""


def gain(scores: Tensor, points: Tensor, centres: Tensor, alpha: Tensor) -> Tensor:
    """Return the gain of each row's point ``(rows, d)`` at its scores, ``(rows,)`` in float64."""
    result = torch.empty(len(scores), dtype=torch.float64, device="cpu")
    return _run(_gains, points, result, scores, centres.double(), alpha.double())


def slope(points: Tensor, alpha: Tensor) -> Tensor:
    """Return the derivative of each point's negative entropy with respect to its alpha, ``(rows,)``.

    Args:
        points: ``(rows, d)``.
        alpha: ``(rows,)``.
    """
    return _run(_slopes, points, torch.empty(len(points), dtype=points.dtype, device="cpu"), alpha.double())


def residual(scale: Tensor, points: Tensor, target: Tensor) -> Tensor:
    """Return ``scale (points - target)``, ``(rows, d)``; scales are ``(rows,)``, targets points or classes."""
    result = torch.from_numpy(empty(tuple(points.shape), points.detach().numpy().dtype))
    return _run(_residuals if target.is_floating_point() else _class_residuals, points, result, scale, target)


def _run(function: Callable[..., None], points: Tensor, result: Tensor, *others: Tensor) -> Tensor:
    """Fill ``result`` by a kernel of points, their bits and the others; by zeros if points have no entries."""
    values, *more = (value.detach().contiguous().numpy() for value in (points, *others))
    if values.size:
        bits = values.view(f"i{values.itemsize}")
        threads = thread_count(len(values), 2 * values.size)
        over_batch(function, threads, values, bits, *more, result.numpy())
    elif result.numel():
        result.zero_()
    return result


@kernel
def _gains(
    points: Array,
    bits: Array,
    scores: Array,
    centres: Array,
    alphas: Array,
    result: Array,
    start: int,
    step: int,
) -> None:
    """Write the gain of each row's point at its scores, ``result (rows,)``; see the formula in `_terms`.

    Arrays: ``points``, their ``bits``, and ``scores (rows, d)``; ``centres`` and ``alphas (rows,)``.
    """
    d = points.shape[1]
    for row in range(*rows_of(points.shape[0], start, step)):
        total = 0.0
        for first in range(0, d, PIECE):
            last = min(first + PIECE, d)
            if any_bits(bits[row, first:last]):
                total += _terms(points[row, first:last], scores[row, first:last], centres[row], alphas[row])
        result[row] = total


@inner
def _terms(points: Array, scores: Array, centre: float, alpha: float) -> float:
    """Return the sum of ``p (x - centre - (p ** b - 1) / (b alpha))``, b = alpha - 1; x may be -inf if p is 0."""
    total, b = 0.0, alpha - 1.0
    if b == np.inf:
        for j in range(points.shape[0]):
            p, above = np.float64(points[j]), np.float64(scores[j]) - centre
            total += p * above if p != 0.0 else 0.0
    elif b == 1.0:
        for j in range(points.shape[0]):
            p, above = np.float64(points[j]), np.float64(scores[j]) - centre
            total += p * (above - 0.5 * (p - 1.0)) if p != 0.0 else 0.0
    elif b == 0.5:
        for j in range(points.shape[0]):
            p, above = np.float64(points[j]), np.float64(scores[j]) - centre
            total += p * (above - (np.sqrt(p) - 1.0) / 0.75) if p != 0.0 else 0.0
    else:
        for j in range(points.shape[0]):
            p, above = np.float64(points[j]), np.float64(scores[j]) - centre
            deformed = _deformed_log(log(max(p, LEAST)), b)
            total += p * (above - deformed / alpha) if p != 0.0 else 0.0
    return total


@inner
def _deformed_log(logarithm: float, b: float) -> float:
    """Return ``(p ** b - 1) / b`` from the logarithm of p, which is the limit for b = 0."""
    return _expm1(b * logarithm) / b if b != 0.0 else logarithm


@inner
def _expm1(u: float) -> float:
    """Return ``exp(u) - 1``, vectorised, to 13 digits."""
    near = u * (1.0 + u * (1 / 2 + u * (1 / 6 + u * (1 / 24 + u * (1 / 120 + u * (1 / 720))))))
    far = exp(u) - 1.0
    return near if abs(u) < 0.01 else far


@kernel
def _slopes(points: Array, bits: Array, alphas: Array, result: Array, start: int, step: int) -> None:
    """Write sums of ``p (phi(b log p) (log p) ** 2 - (p ** b - 1) / (b alpha)) / alpha``; see `derivatives.phi`.

    Arrays: ``points`` and their ``bits (rows, d)``; ``alphas`` and ``result (rows,)``.
    """
    d = points.shape[1]
    for row in range(*rows_of(points.shape[0], start, step)):
        total, alpha = 0.0, alphas[row]
        b = alpha - 1.0
        for first in range(0, d, PIECE):
            last = min(first + PIECE, d)
            if any_bits(bits[row, first:last]):
                total += _changes(points[row, first:last], b)
        result[row] = total / alpha


@inner
def _changes(points: Array, b: float) -> float:
    """Return the sum in `_slopes` over a piece of a row, before the division by alpha."""
    total = 0.0
    for j in range(points.shape[0]):
        p = np.float64(points[j])
        logarithm = log(max(p, LEAST))
        u = b * logarithm
        less = _expm1(u)
        bend = _series(u) if abs(u) < 0.5 else (u * (less + 1.0) - less) / (u * u)
        deformed = less / b if b != 0.0 else logarithm
        total += p * (bend * logarithm * logarithm - deformed / (b + 1.0))
    return total


@inner
def _series(u: float) -> float:
    """Return the sum of ``u ** k / (k! (k + 2))``."""
    total, term = 0.0, 1.0
    for k in range(14):
        total += term / (k + 2)
        term *= u / (k + 1)
    return total


@kernel
def _class_residuals(
    points: Array, bits: Array, scales: Array, classes: Array, result: Array, start: int, step: int
) -> None:
    """Write ``scale (point - target)`` for targets that are classes.

    Arrays: ``points``, their ``bits``, and ``result (rows, d)``; ``scales`` and ``classes (rows,)``.
    """
    d, one = points.shape[1], result.dtype.type(1.0)
    for row in range(*rows_of(points.shape[0], start, step)):
        scale, place = result.dtype.type(scales[row]), classes[row]
        for first in range(0, d, PIECE):
            last = min(first + PIECE, d)
            if any_bits(bits[row, first:last]):
                for j in range(first, last):
                    result[row, j] = scale * points[row, j]
            else:
                result[row, first:last] = 0.0
        result[row, place] = scale * (points[row, place] - one)


@kernel
def _residuals(
    points: Array, bits: Array, scales: Array, targets: Array, result: Array, start: int, step: int
) -> None:
    """Write ``scale (point - target)`` for targets that are points.

    Arrays: ``points``, ``targets`` and ``result (rows, d)``; ``scales (rows,)``. ``bits`` is not read.
    """
    for row in range(*rows_of(points.shape[0], start, step)):
        scale = result.dtype.type(scales[row])
        for j in range(points.shape[1]):
            result[row, j] = scale * (points[row, j] - targets[row, j])
