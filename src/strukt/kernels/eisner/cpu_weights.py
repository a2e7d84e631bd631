"""Weights of arcs in the space of a semiring, and whether a chart of them is safe from underflow."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_semiring import PROBABILITY, Array, zero
from strukt.kernels.jit import exp, inner, kernel

RANGE = 1e-150, 1e150
"""Where values must lie in a chart of weights times a factor."""


@inner
def _word_weights(semiring: int, arcs: Array, b: int, m: int, weights: Array) -> float:
    """Weights of the heads of word m, 0 the root, in a row; gives what the scores were shifted by."""
    heads = weights.shape[1]
    for h in range(heads):
        weights[m, h] = arcs[b, m, h]
    weights[m, m + 1] = -np.inf
    top = -np.inf
    for h in range(heads):
        top = max(top, weights[m, h])
    if top == -np.inf or semiring != PROBABILITY:
        for h in range(heads):
            weights[m, h] = weights[m, h] - top if top > -np.inf else zero(semiring)
        return top
    mass = 0.0
    for h in range(heads):
        weight = exp(weights[m, h] - top)
        weights[m, h] = weight
        mass += weight
    for h in range(heads):
        weights[m, h] /= mass
    return top + np.log(mass)  # type: ignore[no-any-return]


@kernel
def load(semiring: int, arcs: Array, b: int, factor: float, weights: Array) -> float:
    """``weights[m, h]`` of all arcs of item b, times a factor in probability space.

    Gives the sum of what the scores were shifted by, -inf if some word can have no head.
    """
    n = weights.shape[0]
    shift = 0.0
    for m in range(n):
        shift += _word_weights(semiring, arcs, b, m, weights)
    if semiring == PROBABILITY and factor != 1.0:
        weights *= factor
        shift -= n * np.log(factor)
    return shift


@inner
def in_range(values: Array) -> bool:
    """Whether no product of two of the values can underflow or overflow."""
    low, high = RANGE
    outside = 0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            outside += int((values[i, j] > high) | ((values[i, j] < low) & (values[i, j] > 0.0)))
    return outside == 0


@inner
def all_kept(arcs: Array, b: int, weights: Array) -> bool:
    """Whether every arc that is not forbidden has a weight in range."""
    n = weights.shape[0]
    lost = 0
    for m in range(n):
        for h in range(n + 1):
            lost += int((weights[m, h] < RANGE[0]) & (arcs[b, m, h] > -np.inf) & (h != m + 1))
    return lost == 0
