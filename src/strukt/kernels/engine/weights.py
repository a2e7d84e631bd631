"""The weights of a program and the scores that they are made of.

Scores of an item are ``(places,)`` where each weight is one of them, and ``(places, features, values)`` where it
is the sum over values (`strukt.kernels.engine.features`). Which of the two is known while kernels compile, so that
nothing is compiled that a structure does not need.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.engine import features
from strukt.kernels.engine.program import Array
from strukt.kernels.jit import inner


@inner
def gather(scores: Array, places: Array, own: Array) -> None:
    """The log of each weight, ``own (weights,)``, from the scores at its place."""
    if scores.ndim == 1:
        for i in range(places.shape[0]):
            own[i] = scores[places[i]]
    else:
        features.gather(scores, places, own)


@inner
def spread(scores: Array, places: Array, factor: float, parts: Array, used: Array) -> None:
    """Add how often each weight is used, times a factor, to the scores that it is made of: ``used`` as scores."""
    if scores.ndim == 1:
        for i in range(places.shape[0]):
            used[places[i]] += factor * parts[i]
    else:
        features.spread(scores, places, factor, parts, used)


@inner
def mean_directions(scores: Array, places: Array, own: Array, directions: Array, means: Array) -> None:
    """The expected direction of the scores of each weight, ``means (weights,)``; 0 where that is impossible."""
    if scores.ndim == 1:
        for i in range(places.shape[0]):
            means[i] = directions[places[i]] if own[i] > -np.inf else 0.0
    else:
        features.mean_directions(scores, places, own, directions, means)


@inner
def spread_change(
    scores: Array, places: Array, factor: float, mass: Array, changes: Array, directions: Array, sign: float,
    grads: Array,
) -> None:  # fmt: skip
    """Add the derivatives of what `spread` adds, from the uses of the weights, ``mass``, and how they change.

    The logs of the values move by their directions times ``sign``.
    """
    if scores.ndim == 1:
        spread(scores, places, factor, changes, grads)
    else:
        features.spread_change(scores, places, factor, mass, changes, directions, sign, grads)


@inner
def surprises(scores: Array, others: Array, places: Array, own: Array, inner_surprise: Array) -> None:
    """The expected surprise of the values of each weight by others, ``inner_surprise (weights,)``."""
    if scores.ndim == 1:
        inner_surprise[:] = 0.0
    else:
        features.surprises(scores, others, places, own, inner_surprise)


@inner
def gather_best(scores: Array, places: Array, own: Array) -> None:
    """The score of each weight with the best value of each feature, ``own (weights,)``."""
    for i in range(places.shape[0]):
        own[i] = top_of(scores, places[i])


@inner
def top_of(scores: Array, place: int) -> float:
    """The score of a weight with the best value of each feature."""
    if scores.ndim == 1:
        return np.float64(scores[place])
    top = 0.0
    for feature in range(scores.shape[1]):
        top += features.top_of(scores, place, feature)
    return top
