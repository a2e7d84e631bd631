"""The values that structures choose for the features of their weights (see `strukt.kernels.engine.features`).

Unless a docstring says otherwise, ``scores`` are those of an item as in `strukt.kernels.engine.weights`, ``places
(weights,)`` has the place of each weight among them, ``used (count,)`` the weights of a structure, ``codes
(count,)`` the codes of their values, and ``state (1,)`` is that of the generator of random numbers
(`strukt.kernels.cpu_sample.uniform`). The code of a weight is the sum, over its features f, of the index of the
chosen value times the number of values to the power of f.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, choice_of_value
from strukt.kernels.cpu_sample import find, uniform
from strukt.kernels.engine.features import best_of, pair_odds, top_of, value_shares
from strukt.kernels.jit import inner, kept_apart


@inner
def raise_values(scores: Array, places: Array, shift: float, parts: Array, result: Array) -> None:
    """Raise ``result``, for each value of each weight, to the best score of a structure that chooses it.

    ``result`` has the shape of the scores. For each weight, ``parts (weights,)`` plus ``shift`` is the best score
    of a structure with it. Larger entries of ``result`` remain: several weights may have one place.
    """
    kept_apart()
    for i in range(places.shape[0]):
        if parts[i] > -np.inf:
            _raise_value(scores, places[i], shift + parts[i], result)


@inner
def _raise_value(scores: Array, place: int, bound: float, result: Array) -> None:
    """Raise ``result`` at one place; ``bound`` is the best score of a structure with the weight."""
    if scores.ndim == 1:
        result[place] = max(result[place], bound)
    else:
        for feature in range(scores.shape[1]):
            best = top_of(scores, place, feature)
            for value in range(scores.shape[2]):
                less = np.float64(scores[place, feature, value]) - best
                result[place, feature, value] = max(result[place, feature, value], bound + less)


@inner
def write_event(
    places: Array, used: Array, count: int, alternatives: int, kinds: int, codes: Array, events: Array,
    value_codes: Array,
) -> None:  # fmt: skip
    """Write an event: the kinds of its weights (``events``) and the codes of their values (``value_codes``).

    A weight at a place is one of ``alternatives`` at the position ``place // alternatives``, and its kind is
    ``place % kinds``. Both results are ``(positions,)``, or empty if not requested. Weights whose positions lie
    beyond them are not part of the event, and positions without a weight are left unchanged.
    """
    for i in range(count):
        place = places[used[i]]
        position = place // alternatives
        if position < events.shape[0]:
            events[position] = place % kinds
        if position < value_codes.shape[0]:
            value_codes[position] = codes[i]


@inner
def choose_values(
    scores: Array, places: Array, used: Array, count: int, search: Search, rank: int, place: int, deviation: int,
    score: float, workspace: Array, codes: Array,
) -> None:  # fmt: skip
    """Choose the values of the first ``count`` weights in ``used``, of the structure of a rank; write ``codes``.

    The first of these choices is at ``place`` of the search. The choices up to place ``deviation`` are recorded
    there; at later places the best value is chosen (`strukt.kernels.cpu_kbest.choice_of_value`). ``score`` is that
    of the structure. ``scores`` are ``(places, features, values)``, and ``workspace (values,)`` is overwritten.
    """
    kept_apart()
    for i in range(count):
        code, unit = 0, 1
        for feature in range(scores.shape[1]):
            for value in range(scores.shape[2]):
                workspace[value] = scores[places[used[i]], feature, value]
            code += unit * choice_of_value(search, rank, place, deviation, score, workspace)
            unit *= scores.shape[2]
            place += 1
        codes[i] = code


@inner
def features_of(scores: Array) -> int:
    """Return the number of features of each weight, from the scores of a batch; 0 if a weight is one score."""
    if scores.ndim == 2:
        return 0
    return scores.shape[2]  # type: ignore[no-any-return]


@inner
def as_scores(numbers: Array, scores: Array) -> Array:
    """Return a view of ``numbers``, a vector of all main scores, with the axes of the ``scores`` of an item.

    If weights are sums over values, they have one feature.
    """
    if scores.ndim == 1:
        return numbers[:]
    return numbers.reshape(-1, 1, scores.shape[2])


@inner
def best_part(scores: Array, place: int) -> int:
    """Return the index of the best value of a weight in the flat scores, or its place if it is one score.

    If weights are sums over values, they have one feature.
    """
    if scores.ndim == 1:
        return place
    return place * scores.shape[2] + best_of(scores, place, 0)  # type: ignore[no-any-return]


@inner
def shares_at_once(scores: Array, places: Array, requested: bool) -> Array:
    """Return `summed_shares` of all weights, for `draw`; without rows if not ``requested``, or if not needed.

    They are not needed for weights that are one score, or whose features have two values.
    """
    if scores.ndim == 1:
        return np.empty((0, 0, 0))
    return summed_shares(scores, places if requested and scores.shape[2] > 2 else places[:0])


@inner
def draw(scores: Array, places: Array, used: Array, sums: Array, state: Array, codes: Array) -> None:
    """Draw the values of the weights ``used`` by a structure, and write ``codes``, unless weights are one score.

    ``sums`` is the result of `shares_at_once`.
    """
    if scores.ndim > 1:
        if scores.shape[2] == 2:
            draw_pairs(scores, places[used], state, codes)
        elif sums.shape[0] > 0:
            draw_values(sums, used, state, codes)
        else:
            draw_values(summed_shares(scores, places[used]), np.arange(used.shape[0]), state, codes)


@inner
def draw_pairs(scores: Array, places: Array, state: Array, codes: Array) -> None:
    """Draw one of two values for each feature of the weights at ``places (count,)``; write their codes."""
    kept_apart()
    odds = pair_odds(scores, places)
    for i in range(places.shape[0]):
        code, unit = 0, 1
        for feature in range(scores.shape[1]):
            better = int(scores[places[i], feature, 0] < scores[places[i], feature, 1])
            less = uniform(state) * (1.0 + odds[i, feature]) >= 1.0
            code += unit * (1 - better if less else better)
            unit *= 2
        codes[i] = code


@inner
def summed_shares(scores: Array, places: Array) -> Array:
    """Return running sums over the values of a feature of their shares, ``(weights, features, values)``."""
    kept_apart()
    sums = value_shares(scores, places)
    for i in range(places.shape[0]):
        for feature in range(scores.shape[1]):
            for value in range(1, scores.shape[2]):
                sums[i, feature, value] += sums[i, feature, value - 1]
    return sums


@inner
def draw_values(sums: Array, rows: Array, state: Array, codes: Array) -> None:
    """Draw the values of the weights in some rows of ``sums``, from `summed_shares`; write their ``codes``."""
    kept_apart()
    flat, width = sums.reshape(-1), sums.shape[2]
    for i in range(rows.shape[0]):
        code, unit = 0, 1
        for feature in range(sums.shape[1]):
            first = (rows[i] * sums.shape[1] + feature) * width
            code += unit * find(flat, first, width, uniform(state))
            unit *= width
        codes[i] = code
