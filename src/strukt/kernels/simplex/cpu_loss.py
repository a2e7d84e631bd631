"""Fused Numba kernels of entmax's loss for a class: its value, and its gradient; both look at the support only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.jit import kernel, over_batch, rows_of, thread_count
from strukt.kernels.memory import empty
from strukt.kernels.simplex.cpu_backward import PIECE, any_bits

Array = npt.NDArray[Any]


def class_loss(scores: Tensor, probabilities: Tensor, classes: Tensor, alpha: Tensor) -> Tensor:
    """The loss ``(rows,)`` of rows ``(rows, d)``, of which the probabilities are known, for a class each."""
    given, values = (value.detach().contiguous().numpy() for value in (scores, probabilities))
    places, alphas = classes.contiguous().numpy(), alpha.detach().double().contiguous().numpy()
    found = empty(places.shape, given.dtype)
    if given.size:
        bits = values.view(f"i{values.itemsize}")
        threads = thread_count(len(given), 2 * given.size)
        over_batch(_loss, threads, given, values, bits, places, alphas, found)
    return torch.from_numpy(found)


def class_residual(scale: Tensor, probabilities: Tensor, classes: Tensor) -> Tensor:
    """Probabilities less 1 at the class, times a number for each row: ``(rows, d)``."""
    values, scales = (value.detach().contiguous().numpy() for value in (probabilities, scale))
    places = classes.contiguous().numpy()
    found = empty(values.shape, values.dtype)
    if found.size:
        bits = values.view(f"i{values.itemsize}")
        threads = thread_count(len(found), 2 * found.size)
        over_batch(_residual, threads, scales, values, bits, places, found)
    return torch.from_numpy(found)


@kernel
def _loss(
    scores: Array,
    probabilities: Array,
    bits: Array,
    classes: Array,
    alphas: Array,
    found: Array,
    start: int,
    step: int,
) -> None:
    d = scores.shape[1]
    for row in range(*rows_of(scores.shape[0], start, step)):
        place = classes[row]
        own, total = np.float64(scores[row, place]), 0.0
        if own == -np.inf and probabilities[row, place] == 0.0:
            found[row] = np.inf
            continue
        for first in range(0, d, PIECE):
            last = min(first + PIECE, d)
            if any_bits(bits[row, first:last]):
                total += _terms(scores[row, first:last], probabilities[row, first:last], own, alphas[row])
        found[row] = total


@kernel
def _terms(scores: Array, probabilities: Array, own: float, alpha: float) -> float:
    """The sum of ``p (x - own - (p ** b - 1) / (b alpha))``, b = alpha - 1; scores may be -inf where p is 0."""
    total, b = 0.0, alpha - 1.0
    if b == 1.0:
        for j in range(scores.shape[0]):
            p, above = np.float64(probabilities[j]), np.float64(scores[j]) - own
            total += p * (above - 0.5 * (p - 1.0)) if p != 0.0 else 0.0
    elif b == 0.5:
        for j in range(scores.shape[0]):
            p, above = np.float64(probabilities[j]), np.float64(scores[j]) - own
            total += p * (above - (np.sqrt(p) - 1.0) / 0.75) if p != 0.0 else 0.0
    else:
        for j in range(scores.shape[0]):
            p, above = np.float64(probabilities[j]), np.float64(scores[j]) - own
            if p != 0.0:
                log = np.log(p)
                total += p * (above - (np.expm1(b * log) / b if b > 0.0 else log) / alpha)
    return total


@kernel
def _residual(
    scales: Array, probabilities: Array, bits: Array, classes: Array, found: Array, start: int, step: int
) -> None:
    d = probabilities.shape[1]
    one = found.dtype.type(1.0)
    for row in range(*rows_of(probabilities.shape[0], start, step)):
        scale, place = scales[row], classes[row]
        for first in range(0, d, PIECE):
            last = min(first + PIECE, d)
            if any_bits(bits[row, first:last]):
                _scale(probabilities[row, first:last], scale, found[row, first:last])
            else:
                found[row, first:last] = 0.0
        found[row, place] = scale * (probabilities[row, place] - one)


@kernel
def _scale(probabilities: Array, scale: float, found: Array) -> None:
    for j in range(probabilities.shape[0]):
        found[j] = scale * probabilities[j]
