"""Fused Numba kernels of maps to the simplex, with the threshold by Newton's method on a shrinking candidate set.

At threshold 0, the weight of the largest score is already 1, so the threshold is 0 or more. Scores of weight 0 at
one threshold have weight 0 at all higher ones: the candidates are the others, and they become fewer with each
step. For normmax, and for entmax up to alpha = 2, the sum is convex in the threshold, so Newton's steps never
overshoot, and for sparsemax they end exactly at the solution (Michelot 1986). For entmax below alpha = 1, all
scores except -inf have positive weight. Above alpha = 2, the unknown is the smallest weight instead of the
threshold; see `_smallest_weight`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import exp, log1p, typed_exp
from strukt.kernels.jit import inner, kernel, over_batch, rows_of, thread_count
from strukt.kernels.memory import empty
from strukt.kernels.sparsemax_entmax.cpu_backward import pull
from strukt.kernels.sparsemax_entmax.cpu_gain import gain, residual, slope

__all__ = ["entmax", "gain", "normmax", "pull", "residual", "slope"]

MOST_STEPS = 200
"""Bound on the number of Newton's steps, of which about ten are usual."""

BLOCK = 32
"""The number of scores that one vector comparison tests for positive weight."""


def entmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """Return probabilities ``(rows, d)`` for an alpha above 0 for each row; rows of only -inf become zeros."""
    b = alpha.detach().double() - 1.0
    return _run(_map, scores, b, 1.0 / b, 1.0 / b)


def normmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """Return probabilities ``(rows, d)`` for an alpha above 1 for each row; rows of only -inf become zeros."""
    b = alpha.detach().double() - 1.0
    return _run(_map, scores, torch.ones_like(b), 1.0 / b + 1.0, 1.0 / b)


def _run(function: Callable[..., None], main: Tensor, *others: Tensor) -> Tensor:
    """Return the result of a kernel, in the shape of ``main (rows, d)``; the others are ``(rows,)``."""
    rows, *more = (value.detach().contiguous().numpy() for value in (main, *others))
    result = empty(rows.shape, rows.dtype)
    if rows.size:
        over_batch(function, thread_count(len(rows), 4 * rows.size), rows, *more, result)
    return torch.from_numpy(result)


@kernel
def _map(
    scores: Array, scales: Array, powers: Array, roots: Array, result: Array, start: int, step: int
) -> None:
    """Write the weights ``t ** root`` of each row, divided by their sum; softmax if the scale is 0.

    Here t = 1 + scale (score - largest - s), with a threshold s such that the ``t ** power`` sum to one.

    Arrays: ``scores`` and ``result (rows, d)``; ``scales``, ``powers`` and ``roots (rows,)``.
    """
    d = scores.shape[1]
    values, places = np.empty(d), np.empty(d, np.int32)
    for row in range(*rows_of(scores.shape[0], start, step)):
        top, scale = _largest(scores[row]), scales[row]
        if not abs(top) < np.inf:
            result[row] = 0.0 if top == -np.inf else np.nan
        elif scale == 0.0:
            _softmax(scores[row], top, result[row])
        else:
            count = _collect(scores[row], top, scale, values, places)
            if scale <= 1.0:
                s, count = _newton(values, places, count, scale, powers[row])
                _raise(values[:count], s, scale, roots[row])
            else:
                _weights_above_two(scores[row], places[:count], scale, values[:count])
            _scatter(values[:count], places, result[row])


@inner
def _largest(scores: Array) -> float:
    """Return the largest score; NaN if one is NaN."""
    top, wrong = scores[0], 0
    for j in range(scores.shape[0]):
        top = max(top, scores[j])
        wrong += int(scores[j] != scores[j])
    return np.float64(top) if wrong == 0 else np.nan


@inner
def _softmax(scores: Array, top: float, result: Array) -> None:
    """Write the softmax of ``scores (d,)``, of which ``top`` is the largest, to ``result (d,)``."""
    most, total = scores.dtype.type(top), 0.0
    for j in range(scores.shape[0]):
        result[j] = typed_exp(scores[j] - most)
    for j in range(scores.shape[0]):
        total += result[j]
    share = scores.dtype.type(1.0 / total)
    for j in range(scores.shape[0]):
        result[j] *= share


@inner
def _collect(scores: Array, top: float, scale: float, values: Array, places: Array) -> int:
    """Write the candidates' scores minus the largest to ``values``, and their indices to ``places``.

    The candidates have positive weight at threshold 0. Return their number.
    """
    d, count = scores.shape[0], 0
    bound = scores.dtype.type(top - 1.0 / scale if scale > 0.0 else -np.inf)
    for first in range(0, d, BLOCK):
        last, some = min(first + BLOCK, d), 0
        for j in range(first, last):
            some += int(scores[j] >= bound)
        if some > 0:
            for j in range(first, last):
                value = np.float64(scores[j]) - top
                values[count], places[count] = value, j
                count += int(0.0 < 1.0 + scale * value < np.inf)
    return count


@inner
def _sums(values: Array, s: float, scale: float, power: float) -> tuple[float, float]:
    """Return the sum of ``t ** power``, with t = 1 + scale (value - s) above 0, and its rate of decrease in s."""
    total, slope = 0.0, 0.0
    if power == 1.0:
        for j in range(values.shape[0]):
            total += 1.0 + scale * (values[j] - s)
        return total, scale * values.shape[0]
    if power == 2.0:
        for j in range(values.shape[0]):
            t = 1.0 + scale * (values[j] - s)
            total += t * t
            slope += t
        return total, 2.0 * scale * slope
    for j in range(values.shape[0]):
        t = scale * (values[j] - s)
        weight = exp(power * log1p(t))
        total += weight
        slope += weight / (1.0 + t)
    return total, power * scale * slope


@inner
def _newton(values: Array, places: Array, count: int, scale: float, power: float) -> tuple[float, int]:
    """Return the threshold, approached from below, and the number of candidates that then have positive weight.

    These candidates are moved to the front of ``values`` and ``places``.
    """
    s = 0.0
    for _ in range(MOST_STEPS):
        total, slope = _sums(values[:count], s, scale, power)
        following = s + _excess(total, scale) / slope
        if not following > s:
            break
        s, kept = following, 0
        for j in range(count):
            value, place = values[j], places[j]
            values[kept], places[kept] = value, place
            kept += int(1.0 + scale * (value - s) > 0.0)
        count = kept
    return s, count


@inner
def _excess(total: float, scale: float) -> float:
    """Return the excess of a sum of weights over 1.

    For alpha < 1 it is transformed so that Newton steps converge fast: ``total ** scale`` is concave in the
    threshold, and linear if the scores are equal.
    """
    return total - 1.0 if scale > 0.0 else total * np.expm1(-scale * np.log(total)) / -scale


@inner
def _raise(values: Array, s: float, scale: float, root: float) -> None:
    """Replace scores minus the largest by weights ``t ** root``, with t as in `_map`; 0 if t is not positive."""
    for j in range(values.shape[0]):
        t = scale * (values[j] - s)
        if root == 1.0:
            values[j] = max(1.0 + t, 0.0)
        elif root == 2.0:
            values[j] = max(1.0 + t, 0.0) ** 2
        else:
            values[j] = exp(root * log1p(t)) if t > -1.0 else 0.0


@inner
def _weights_above_two(scores: Array, places: Array, scale: float, weights: Array) -> None:
    """Write ``weights`` of the candidates, before division by their sum, for alpha above 2.

    The unknown is the smallest weight, because the sum is not convex in the threshold. Besides, small weights are
    high roots of the score minus the threshold, a difference that would cancel.
    """
    for j in range(weights.shape[0]):
        weights[j] = scores[places[j]]
    ranked = np.sort(weights)
    first = _support(ranked, scale)
    least = ranked[first]
    w = _smallest_weight(scale * (ranked[first:] - least), scale)
    for j in range(weights.shape[0]):
        gap = scale * (weights[j] - least)
        if gap > 0.0:
            weights[j] = (gap + w**scale) ** (1.0 / scale)
        else:
            weights[j] = w if gap == 0.0 else 0.0


@inner
def _support(ranked: Array, scale: float) -> int:
    """Return the index of the first of ascending scores with positive weight.

    If the threshold were this score, the weights of the scores above would sum to less than one.
    """
    low, high, middle = 0, ranked.shape[0] - 1, 0
    while low < high:
        total = 0.0
        for j in range(ranked.shape[0] - 1, middle, -1):
            total += (scale * (ranked[j] - ranked[middle])) ** (1.0 / scale)
            if total >= 1.0:
                break
        if total < 1.0:
            high = middle
        else:
            low = middle + 1
        middle = (low + high) // 2
    return low


@inner
def _smallest_weight(gaps: Array, scale: float) -> float:
    """Return the w for which ``(gap + w ** b) ** (1 / b)`` sum to one, with b = ``scale``.

    The gaps are b times the differences from the smallest score. Each term is the b-norm of ``(gap ** (1 / b),
    w)``, hence convex in w, so Newton's steps from above never overshoot.
    """
    w = 1.0 / gaps.shape[0]
    for _ in range(MOST_STEPS):
        total, slope, power = 0.0, 0.0, w**scale
        for j in range(gaps.shape[0]):
            if gaps[j] > 0.0:
                weight = (gaps[j] + power) ** (1.0 / scale)
                total += weight
                slope += (w / weight) ** (scale - 1.0)
            else:
                total += w
                slope += 1.0
        following = max(w - (total - 1.0) / slope, 0.0)
        if not following < w:
            break
        w = following
    return float(w)


@inner
def _scatter(weights: Array, places: Array, result: Array) -> None:
    """Write weights, divided by their sum, to the entries of ``result (d,)`` at ``places``, and 0 elsewhere."""
    total = 0.0
    for j in range(weights.shape[0]):
        total += weights[j]
    result[:] = 0.0
    for j in range(weights.shape[0]):
        result[places[j]] = weights[j] / total
