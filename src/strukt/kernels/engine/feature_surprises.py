"""Expected surprises of the values of features under other scores; see `strukt.kernels.engine.features`.

The surprise of a value is -log of its share under the other scores, in nats.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import log1p
from strukt.kernels.engine.features import pair_odds, relative, value_shares
from strukt.kernels.jit import inner, kept_apart


@inner
def surprises(scores: Array, others: Array, places: Array, weight_scores: Array, inner_surprise: Array) -> None:
    """Write the expected surprise of the values of each weight under ``others``, ``inner_surprise (weights,)``.

    It is 0 for a weight that is impossible in ``weight_scores``, and +inf if only ``others`` forbid the weight, or
    one of its values. `features.spread_change` with ``others`` as directions and sign -1 computes the gradient.
    """
    kept_apart()
    inner_surprise[:] = 0.0
    if scores.shape[2] == 2:
        _pair_surprises(scores, others, places, weight_scores, inner_surprise)
        return
    shares, relatives = value_shares(scores, places), relative(others, places)
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1] if weight_scores[i] > -np.inf else 0):
            theirs = others[places[i], feature]
            inner_surprise[i] += _surprise(shares[i, feature], theirs, relatives[i, feature])


@inner
def _surprise(shares: Array, others: Array, relatives: Array) -> float:
    """Return the expected surprise of the values of a feature under ``others``; all arrays are ``(values,)``.

    ``relatives`` are the weights of values under ``others`` relative to that of the best one. The surprise of the
    best value is log(1 + r), where r is the sum of the other relative weights. That of any other value is larger
    by the difference of their scores.
    """
    best, rest, expected = 0, 0.0, 0.0
    for value in range(1, others.shape[0]):
        if others[value] > others[best]:
            best = value
    if others[best] == -np.inf:
        return np.inf
    for value in range(others.shape[0]):
        rest += relatives[value] if value != best else 0.0
        if shares[value] > 0.0:
            expected += shares[value] * (np.float64(others[best]) - np.float64(others[value]))
    return np.float64(expected + np.log1p(rest))


@inner
def _pair_surprises(
    scores: Array, others: Array, places: Array, weight_scores: Array, inner_surprise: Array
) -> None:
    """Write the expected surprises for features with two values.

    The surprise of the better one is log(1 + odds), and that of the worse one larger by the gap of their scores.
    """
    odds, other_odds = pair_odds(scores, places), pair_odds(others, places)
    for i in range(places.shape[0]):
        if weight_scores[i] == -np.inf:
            continue
        expected = 0.0
        for feature in range(scores.shape[1]):
            one, two = np.float64(others[places[i], feature, 0]), np.float64(others[places[i], feature, 1])
            first = scores[places[i], feature, 0] >= scores[places[i], feature, 1]
            less = odds[i, feature] / (1.0 + np.float64(odds[i, feature]))
            worse = less if first == (one >= two) else 1.0 - less
            gap = max(one, two) - min(one, two) if worse > 0.0 else 0.0
            expected += log1p(np.float64(other_odds[i, feature])) + worse * gap
            if max(one, two) == -np.inf:
                expected = np.inf
        inner_surprise[i] = expected
