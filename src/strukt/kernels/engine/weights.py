"""The weights of a program, computed from the scores of an item.

Scores of an item are ``(places,)`` if each weight is one score, and ``(places, features, values)`` if it is a sum
over values (`strukt.kernels.engine.features`); ``places (weights,)`` has the place of each weight among them. The
number of axes is known at compile time, so only the branch for it is compiled.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine import feature_surprises, features
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
    """Add the uses of weights, ``parts (weights,)``, times a factor, to ``used`` at their scores.

    ``used`` has the shape of the scores. The use of a weight that is a sum over values is divided among these.
    """
    if scores.ndim == 1:
        for i in range(places.shape[0]):
            used[places[i]] += factor * parts[i]
    else:
        features.spread(scores, places, factor, parts, used)


@inner
def mean_directions(scores: Array, places: Array, weight_scores: Array, directions: Array, means: Array) -> None:
    """Write the expected direction of each weight's scores, ``means (weights,)``; 0 for an impossible weight.

    ``directions`` has the shape of the scores.
    """
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
    """Add to ``grads`` the derivative of the result of `spread`, given the use of each weight and its derivative.

    The uses are ``mass (weights,)``, and their derivatives ``changes (weights,)``. The log of each value moves by
    its direction times ``sign``.
    """
    if scores.ndim == 1:
        spread(scores, places, factor, changes, grads)
    else:
        features.spread_change(scores, places, factor, mass, changes, directions, sign, grads)


@inner
def surprises(scores: Array, others: Array, places: Array, weight_scores: Array, inner_surprise: Array) -> None:
    """Write the expected surprise of the values of each weight under ``others``, ``inner_surprise (weights,)``.

    It is 0 if weights are single scores.
    """
    if scores.ndim == 1:
        inner_surprise[:] = 0.0
    else:
        feature_surprises.surprises(scores, others, places, weight_scores, inner_surprise)


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
