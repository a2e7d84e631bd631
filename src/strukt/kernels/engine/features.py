"""What the weights of a program are made of: features, each with one of some values, which sums never see.

A label is one feature, with a value for each label; a code of bits has a feature for each bit, with two values. A
structure that uses a weight chooses one value of each of its features, so that the weight is the product over
features of the sum over values. Where there is a single value, all this is the score itself.

Scores of an item are ``(places, features, values)``.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.engine.program import Array
from strukt.kernels.jit import inner, kept_apart, kernel, log, own_exp

LEAST_SCORE = -1e30
"""Stands for the better of two scores of -inf, whose difference would be NaN."""


@kernel
def gather(scores: Array, places: Array, own: Array) -> None:
    """The log of each weight, ``own (weights,)``, from the scores at its place."""
    kept_apart()
    if scores.shape[2] == 1:
        for i in range(places.shape[0]):
            own[i] = scores[places[i], 0, 0]
        return
    products = np.empty(places.shape[0])
    for i in range(places.shape[0]):
        if scores.shape[2] == 2:
            own[i], products[i] = _pairs(scores, places[i])
        else:
            own[i], products[i] = _sums(scores, places[i])
    for i in range(places.shape[0]):  # by themselves: logarithms in vectors
        own[i] += log(products[i])


@inner
def _pairs(scores: Array, place: int) -> tuple[float, float]:
    """The best score of a weight, and the weight relative to that: of features with two values, in vectors."""
    least = scores.dtype.type(LEAST_SCORE)
    total, product = 0.0, 1.0
    for feature in range(scores.shape[1]):
        one, two = scores[place, feature, 0], scores[place, feature, 1]
        top = max(one, two)
        total += top
        product *= 1.0 + own_exp(min(one, two) - max(top, least))
    return total, product


@inner
def _sums(scores: Array, place: int) -> tuple[float, float]:
    """The same for any number of values: sums from 1 to this number, of few features, so that none overflows."""
    total, product = 0.0, 1.0
    for feature in range(scores.shape[1]):
        top = scores[place, feature, 0]
        for value in range(1, scores.shape[2]):
            top = max(top, scores[place, feature, value])
        if top == -np.inf:
            return -np.inf, 1.0
        rest = scores.dtype.type(0.0)
        for value in range(scores.shape[2]):
            rest += own_exp(scores[place, feature, value] - top)
        total += top
        product *= rest
    return total, product


@inner
def value_shares(scores: Array, place: int, feature: int, room: Array) -> tuple[float, float]:
    """The share of each value of a feature, ``room (values,)``; gives the best score, and the sum beside that."""
    top, total = scores[place, feature, 0], scores.dtype.type(0.0)
    for value in range(1, scores.shape[2]):
        top = max(top, scores[place, feature, value])
    if top == -np.inf:
        room[:] = 0.0
        return -np.inf, 1.0
    for value in range(scores.shape[2]):
        room[value] = own_exp(scores[place, feature, value] - top)
        total += room[value]
    for value in range(scores.shape[2]):
        room[value] /= total
    return np.float64(top), np.float64(total)


@kernel
def spread(scores: Array, places: Array, own: Array, factor: float, parts: Array, used: Array) -> None:
    """Add how often each weight is used, times a factor, to the values that it is made of: ``used`` as scores.

    ``own`` are the logs of the weights. Loops take arrays and no tables: from a tuple an array is taken anew, and
    counted, each time.
    """
    kept_apart()
    if scores.shape[2] == 1:
        for i in range(places.shape[0]):
            used[places[i], 0, 0] += factor * parts[i]
        return
    for i in range(places.shape[0]):
        mass = scores.dtype.type(factor * parts[i])
        if mass == 0.0:
            continue
        if scores.shape[2] == 2:
            _spread_pairs(scores, places[i], mass, used)
        elif scores.shape[1] == 1:
            for value in range(scores.shape[2]):
                share = own_exp(scores.dtype.type(scores[places[i], 0, value] - own[i]))
                used[places[i], 0, value] += mass * share
        else:
            _spread_values(scores, places[i], mass, used)


@inner
def _spread_pairs(scores: Array, place: int, mass: float, used: Array) -> None:
    """Spread over features with two values, in vectors."""
    for feature in range(scores.shape[1]):
        one, two = scores[place, feature, 0], scores[place, feature, 1]
        less = own_exp(min(one, two) - max(one, two))
        better = mass / (scores.dtype.type(1.0) + less)
        used[place, feature, 0] += better if one >= two else less * better
        used[place, feature, 1] += less * better if one >= two else better


@inner
def _spread_values(scores: Array, place: int, mass: float, used: Array) -> None:
    room = np.empty(scores.shape[2], scores.dtype)
    for feature in range(scores.shape[1]):
        value_shares(scores, place, feature, room)
        for value in range(scores.shape[2]):
            used[place, feature, value] += mass * room[value]


@kernel
def mean_directions(scores: Array, places: Array, own: Array, directions: Array, means: Array) -> None:
    """The expected direction of the values of each weight, ``means (weights,)``; 0 where that is impossible."""
    kept_apart()
    room, moves = np.empty(scores.shape[2], scores.dtype), np.empty(scores.shape[2])
    for i in range(places.shape[0]):
        means[i] = 0.0
        if own[i] == -np.inf:
            continue
        if scores.shape[2] == 1:
            means[i] = directions[places[i], 0, 0]
            continue
        for feature in range(scores.shape[1]):
            _value_directions(scores, places[i], feature, directions, room, moves)
            means[i] += _mean(room, moves)


@inner
def _value_directions(
    scores: Array, place: int, feature: int, directions: Array, room: Array, moves: Array
) -> None:
    """The shares of the values of a feature, ``room``, and the direction of each, ``moves (values,)``."""
    value_shares(scores, place, feature, room)
    for value in range(room.shape[0]):
        moves[value] = directions[place, feature, value]


@inner
def _mean(room: Array, moves: Array) -> float:
    """The mean of what values have, by their shares; what one without a share has may be anything."""
    mean = 0.0
    for value in range(room.shape[0]):
        if room[value] > 0.0:
            mean += room[value] * moves[value]
    return mean


@inner
def _add_change(
    grads: Array, place: int, feature: int, factor: float, room: Array, moves: Array, mass: float, change: float
) -> None:
    """Add the derivatives of mass x shares, where the mass changes, and the logs of the values have ``moves``."""
    mean = _mean(room, moves)
    for value in range(room.shape[0]):
        if room[value] > 0.0:
            grads[place, feature, value] += factor * room[value] * (change + mass * (moves[value] - mean))


@kernel
def spread_change(
    scores: Array, places: Array, own: Array, factor: float, mass: Array, changes: Array, directions: Array,
    grads: Array,
) -> None:  # fmt: skip
    """Add the derivatives of what `spread` adds, from the uses of the weights, ``mass``, and how they change."""
    kept_apart()
    if scores.shape[2] == 1:
        spread(scores, places, own, factor, changes, grads)
        return
    room, moves = np.empty(scores.shape[2], scores.dtype), np.empty(scores.shape[2])
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1] if mass[i] > 0.0 else 0):
            _value_directions(scores, places[i], feature, directions, room, moves)
            _add_change(grads, places[i], feature, factor, room, moves, mass[i], changes[i])


@inner
def _value_surprises(
    scores: Array, others: Array, place: int, feature: int, room: Array, other_room: Array, found: Array
) -> None:
    """The shares of the values of a feature, ``room``, and the surprise of each by others, ``found (values,)``.

    As between the terms of a sum, nothing cancels: see `surprise`.
    """
    top, total = value_shares(others, place, feature, other_room)
    log = top + np.log(total)
    dominant, rest = -1, 0.0
    for value in range(found.shape[0]):
        theirs = others[place, feature, value]
        found[value] = max(log - theirs, 0.0) if theirs > -np.inf else np.inf
        if other_room[value] > 0.75:
            dominant = value
        else:
            rest += other_room[value]
    if dominant >= 0:
        found[dominant] = -np.log1p(-rest)
    value_shares(scores, place, feature, room)


@kernel
def surprises(scores: Array, others: Array, places: Array, own: Array, inner_surprise: Array) -> None:
    """The expected surprise of the values of each weight by others, ``inner_surprise (weights,)``.

    0 for a weight that is impossible, ``own``, and +inf for one that only others forbid.
    """
    kept_apart()
    inner_surprise[:] = 0.0
    if scores.shape[2] == 1:
        return
    count = scores.shape[2]
    room, other_room, found = np.empty(count, scores.dtype), np.empty(count, scores.dtype), np.empty(count)
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1] if own[i] > -np.inf else 0):
            _value_surprises(scores, others, places[i], feature, room, other_room, found)
            inner_surprise[i] += _mean(room, found)


@kernel
def spread_surprise(
    scores: Array, others: Array, places: Array, own: Array, factor: float, mass: Array, changes: Array,
    grads: Array,
) -> None:  # fmt: skip
    """Add the gradient of an expected surprise: through the weights, ``changes``, and through their values."""
    kept_apart()
    if scores.shape[2] == 1:
        spread(scores, places, own, factor, changes, grads)
        return
    count = scores.shape[2]
    room, other_room, found = np.empty(count, scores.dtype), np.empty(count, scores.dtype), np.empty(count)
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1] if mass[i] > 0.0 else 0):
            _value_surprises(scores, others, places[i], feature, room, other_room, found)
            _add_change(grads, places[i], feature, factor, room, found, mass[i], changes[i])
