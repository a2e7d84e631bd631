"""The features of which a program's weights are made, each with a choice of values.

A label is one feature, with a value for each label; a code of bits has a feature for each bit, with two values. A
structure that uses a weight chooses one value of each of the weight's features. So the weight is the product over
features of the sum over values of exp(score), and the program needs no cells for values.

``scores (places, features, values)`` are those of an item, ``directions`` have the same shape, and ``places
(weights,)`` has the place of each weight among them.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import log, typed_exp
from strukt.kernels.jit import inner, kept_apart

LEAST_SCORE = -1e30
"""The lower bound of the best score of a feature, so that the difference of two scores of -inf is not NaN."""


@inner
def gather(scores: Array, places: Array, weight_scores: Array) -> None:
    """Write the log of each weight, ``weight_scores (weights,)``, from the scores at its place."""
    kept_apart()
    products = np.ones(places.shape[0])
    if scores.shape[2] == 2:
        _gather_pairs(scores, places, weight_scores, products)
    else:
        _gather_values(scores, places, weight_scores, products)
    for i in range(places.shape[0]):  # a separate loop, so that logarithms are vectorised
        weight_scores[i] += log(products[i])


@inner
def _gather_pairs(scores: Array, places: Array, weight_scores: Array, products: Array) -> None:
    """Write the best score of each weight to ``weight_scores``, and the weight relative to it to ``products``.

    Features have two values.
    """
    odds = pair_odds(scores, places)
    for i in range(places.shape[0]):
        total, product = 0.0, 1.0
        for feature in range(scores.shape[1]):
            total += max(scores[places[i], feature, 0], scores[places[i], feature, 1])
            product *= 1.0 + odds[i, feature]
        weight_scores[i], products[i] = total, product


@inner
def pair_odds(scores: Array, places: Array) -> Array:
    """Return the weight of the worse of two values relative to the better one, ``(weights, features)``."""
    kept_apart()
    least = scores.dtype.type(LEAST_SCORE)
    odds = np.empty((places.shape[0], scores.shape[1]), scores.dtype)
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1]):
            one, two = scores[places[i], feature, 0], scores[places[i], feature, 1]
            odds[i, feature] = min(one, two) - max(max(one, two), least)
    flat = odds.reshape(-1)
    for j in range(flat.shape[0]):  # a separate loop, so that exponentials are vectorised
        flat[j] = typed_exp(flat[j])
    return odds


@inner
def _gather_values(scores: Array, places: Array, weight_scores: Array, products: Array) -> None:
    """Write best scores and relative weights for any number of values.

    A relative weight is at most the number of values to the power of that of features: it overflows only if there
    are hundreds of features.
    """
    ratios = relative(scores, places)
    for i in range(places.shape[0]):
        weight_scores[i] = 0.0
        for feature in range(scores.shape[1]):
            weight_scores[i] += top_of(scores, places[i], feature)
            if weight_scores[i] > -np.inf:
                products[i] *= ratios[i, feature].sum()


@inner
def top_of(scores: Array, place: int, feature: int) -> float:
    """Return the largest score among the values of a feature."""
    top = scores[place, feature, 0]
    for value in range(1, scores.shape[2]):
        top = max(top, scores[place, feature, value])
    return np.float64(top)


@inner
def best_of(scores: Array, place: int, feature: int) -> int:
    """Return the index of the best value of a feature, the first among ties."""
    best = 0
    for value in range(1, scores.shape[2]):
        if scores[place, feature, value] > scores[place, feature, best]:
            best = value
    return best


@inner
def relative(scores: Array, places: Array) -> Array:
    """Return the weight of each value relative to the best one of its feature, ``(weights, features, values)``."""
    kept_apart()
    result = np.empty((places.shape[0], scores.shape[1], scores.shape[2]), scores.dtype)
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1]):
            top = scores.dtype.type(max(top_of(scores, places[i], feature), LEAST_SCORE))
            for value in range(scores.shape[2]):
                result[i, feature, value] = scores[places[i], feature, value] - top
    flat = result.reshape(-1)
    for j in range(flat.shape[0]):  # a separate loop, so that exponentials are vectorised
        flat[j] = typed_exp(flat[j])
    return result


@inner
def value_shares(scores: Array, places: Array) -> Array:
    """Return the share of each value of the features of some weights, ``(weights, features, values)``."""
    kept_apart()
    shares = relative(scores, places)
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1]):
            total = max(shares[i, feature].sum(), scores.dtype.type(0.5))  # the sum is 0, or at least 1
            for value in range(scores.shape[2]):
                shares[i, feature, value] /= total
    return shares


@inner
def spread(scores: Array, places: Array, factor: float, parts: Array, used: Array) -> None:
    """Add the uses of weights, ``parts (weights,)``, times a factor and the share of each value, to ``used``.

    ``used`` has the shape of the scores. The arguments are arrays, not a table: taking an array from a tuple in a
    loop costs reference counting each time.
    """
    kept_apart()
    if scores.shape[2] == 2:
        _spread_pairs(scores, places, factor, parts, used)
    else:
        shares = value_shares(scores, places)
        for i in range(places.shape[0]):
            mass = scores.dtype.type(factor * parts[i])
            for feature in range(scores.shape[1]):
                for value in range(scores.shape[2]):
                    used[places[i], feature, value] += mass * shares[i, feature, value]


@inner
def _spread_pairs(scores: Array, places: Array, factor: float, parts: Array, used: Array) -> None:
    """Compute `spread` for features with two values, vectorised."""
    odds, whole = pair_odds(scores, places), scores.dtype.type(1.0)
    for i in range(places.shape[0]):
        mass = scores.dtype.type(factor * parts[i])
        for feature in range(scores.shape[1]):
            first = scores[places[i], feature, 0] >= scores[places[i], feature, 1]
            better = mass / (whole + odds[i, feature])
            worse = odds[i, feature] * better
            used[places[i], feature, 0] += better if first else worse
            used[places[i], feature, 1] += worse if first else better


@inner
def mean_directions(scores: Array, places: Array, weight_scores: Array, directions: Array, means: Array) -> None:
    """Write the expected direction of the values of each weight, ``means (weights,)``; 0 for an impossible weight.

    The direction of a value of share 0 is ignored, even NaN.
    """
    kept_apart()
    means[:] = 0.0
    if scores.shape[2] == 2:
        _mean_pairs(scores, places, weight_scores, directions, means)
        return
    shares, moves = value_shares(scores, places), np.empty(scores.shape[2])
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1] if weight_scores[i] > -np.inf else 0):
            best, mean = _moves(shares[i, feature], directions[places[i], feature], moves)
            means[i] += directions[places[i], feature, best] + mean


@inner
def _mean_pairs(scores: Array, places: Array, weight_scores: Array, directions: Array, means: Array) -> None:
    """Compute `mean_directions` for features with two values; impossible weights are left unchanged."""
    odds, whole = pair_odds(scores, places), scores.dtype.type(1.0)
    for i in range(places.shape[0]):
        if weight_scores[i] == -np.inf:
            continue
        mean = scores.dtype.type(0.0)
        for feature in range(scores.shape[1]):
            first = scores[places[i], feature, 0] >= scores[places[i], feature, 1]
            one, two, less = directions[places[i], feature, 0], directions[places[i], feature, 1], odds[i, feature]
            move = (two - one if first else one - two) if less > 0.0 else scores.dtype.type(0.0)
            mean += (one if first else two) + less / (whole + less) * move
        means[i] = mean


@inner
def _moves(shares: Array, directions: Array, moves: Array) -> tuple[int, float]:
    """Write ``moves (values,)``: the direction of each value of a feature minus that of the most probable value.

    The difference limits cancellation; it is 0 for values of share 0. Return the index of the most probable value,
    and the mean of the moves under the shares.
    """
    best, mean = 0, 0.0
    for value in range(1, shares.shape[0]):
        if shares[value] > shares[best]:
            best = value
    for value in range(shares.shape[0]):
        moves[value] = directions[value] - directions[best] if shares[value] > 0.0 else 0.0
        mean += shares[value] * moves[value]
    return best, mean


@inner
def spread_change(
    scores: Array, places: Array, factor: float, mass: Array, changes: Array, directions: Array, sign: float,
    grads: Array,
) -> None:  # fmt: skip
    """Add to ``grads`` the derivative of the result of `spread`, given the use of each weight and its derivative.

    The uses are ``mass (weights,)``, and their derivatives ``changes (weights,)``. The log of each value moves by
    its direction times ``sign``.
    """
    kept_apart()
    if scores.shape[2] == 2:
        _change_pairs(scores, places, factor, mass, changes, directions, sign, grads)
    else:
        shares, moves = value_shares(scores, places), np.empty(scores.shape[2])
        for i in range(places.shape[0]):
            for feature in range(scores.shape[1] if mass[i] > 0.0 else 0):
                _, mean = _moves(shares[i, feature], directions[places[i], feature], moves)
                for value in range(scores.shape[2]):
                    moved = changes[i] + sign * mass[i] * (moves[value] - mean)
                    grads[places[i], feature, value] += factor * shares[i, feature, value] * moved


@inner
def _change_pairs(
    scores: Array, places: Array, factor: float, mass: Array, changes: Array, directions: Array, sign: float,
    grads: Array,
) -> None:  # fmt: skip
    """Compute `spread_change` for two values of shares p and 1 - p.

    The share of a value changes by plus or minus p (1 - p) times the difference of their directions, which may be
    infinite for a weight without mass.
    """
    odds, as_type = pair_odds(scores, places), scores.dtype.type
    for i in range(places.shape[0]):
        change, turn = as_type(factor * changes[i]), as_type(factor * sign * mass[i])
        for feature in range(scores.shape[1]):
            first = scores[places[i], feature, 0] >= scores[places[i], feature, 1]
            better = as_type(1.0) / (as_type(1.0) + odds[i, feature])
            worse = odds[i, feature] * better
            move = directions[places[i], feature, 0] - directions[places[i], feature, 1]
            turned = turn * better * worse * move if worse > 0.0 and turn != 0.0 else as_type(0.0)
            grads[places[i], feature, 0] += change * (better if first else worse) + turned
            grads[places[i], feature, 1] += change * (worse if first else better) - turned
