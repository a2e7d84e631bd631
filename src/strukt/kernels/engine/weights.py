"""The weights of a program, from the scores that they are made of.

Scores of an item are ``(places,)`` if each weight is one of them, and ``(places, features, values)`` if it is a
sum over values (`strukt.kernels.engine.features`). The number of axes is known at compile time, so only one
version is compiled.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine import features
from strukt.kernels.jit import inner


@inner
def gather(scores: Array, places: Array, weight_scores: Array) -> None:
    """Write the log of each weight, ``weight_scores (weights,)``, from the scores at its place."""
    if scores.ndim == 1:
        for i in range(places.shape[0]):
            weight_scores[i] = scores[places[i]]
    else:
        features.gather(scores, places, weight_scores)


@inner
def spread(scores: Array, places: Array, factor: float, parts: Array, used: Array) -> None:
    """Add the use of each weight, times a factor, to the scores it is made of, ``used`` in the shape of scores."""
    if scores.ndim == 1:
        for i in range(places.shape[0]):
            used[places[i]] += factor * parts[i]
    else:
        features.spread(scores, places, factor, parts, used)


@inner
def mean_directions(scores: Array, places: Array, weight_scores: Array, directions: Array, means: Array) -> None:
    """Write the expected direction of the scores of each weight, ``means (weights,)``; 0 if it is impossible."""
    if scores.ndim == 1:
        for i in range(places.shape[0]):
            means[i] = directions[places[i]] if weight_scores[i] > -np.inf else 0.0
    else:
        features.mean_directions(scores, places, weight_scores, directions, means)


@inner
def spread_change(
    scores: Array, places: Array, factor: float, mass: Array, changes: Array, directions: Array, sign: float,
    grads: Array,
) -> None:  # fmt: skip
    """Add the derivatives of the results of `spread`, from the uses of the weights, ``mass``, and their changes.

    The logs of the values move by their directions times ``sign``.
    """
    if scores.ndim == 1:
        spread(scores, places, factor, changes, grads)
    else:
        features.spread_change(scores, places, factor, mass, changes, directions, sign, grads)


@inner
def surprises(scores: Array, others: Array, places: Array, weight_scores: Array, inner_surprise: Array) -> None:
    """Write the expected surprise of the values of each weight under others, ``inner_surprise (weights,)``."""
    if scores.ndim == 1:
        inner_surprise[:] = 0.0
    else:
        features.surprises(scores, others, places, weight_scores, inner_surprise)


@inner
def gather_best(scores: Array, places: Array, weight_scores: Array) -> None:
    """Write the score of each weight with the best value of each feature, ``weight_scores (weights,)``."""
    for i in range(places.shape[0]):
        weight_scores[i] = top_of(scores, places[i])


@inner
def top_of(scores: Array, place: int) -> float:
    """Return the score of a weight with the best value of each feature."""
    if scores.ndim == 1:
        return np.float64(scores[place])
    top = 0.0
    for feature in range(scores.shape[1]):
        top += features.top_of(scores, place, feature)
    return top
