"""The gradient of max-marginals, the best scores of structures with each weight.

The gradient of a max-marginal consists of the parts of one structure that attains it. Of tied terms, the first one
that the passes meet is followed. A *bound* is the best score of a structure with some cell or weight;
`max_inside_outside.bound` records the rows that bounds come from, along which `pull` goes back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.features import best_of
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT
from strukt.kernels.engine.rings import add_factors, share_out
from strukt.kernels.jit import inner, kept_apart


class Bounds(NamedTuple):
    """The bounds of all cells, or of all weights, and their origins.

    Attributes:
        scores: ``(count,)``, the bounds; -inf if there is no structure.
        origins: ``(count,)``, the row of the program that a bound comes from, times two; plus one if the cell is
            the right factor of a term, or the weight that of the whole row. -1 for the top cell.
        pulls: ``(count,)``, the derivative with respect to each bound.
    """

    scores: Array
    origins: Array
    pulls: Array


@inner
def make_bounds(count: int) -> Bounds:
    """Allocate ``count`` bounds, uninitialised."""
    return Bounds(np.empty(count), np.empty(count, np.int32), np.empty(count))


@inner
def pull(
    rows: Array, top: int, weight_scores: Array, value: Array, workspace: Array, around: Bounds, parts: Bounds,
    within: Array,
) -> None:  # fmt: skip
    """Replace ``parts.pulls``, derivatives with respect to bounds, by those with respect to the weights' scores.

    Args:
        rows: The rows of the program.
        top: The top cell of the program.
        weight_scores: ``(weights,)``, the scores of the weights.
        value: ``(cells,)``, the best score of each cell.
        workspace: ``(2, terms)``, overwritten.
        around: The bounds of cells; their pulls are overwritten.
        parts: The bounds of weights.
        within: ``(cells,)``, the result: the derivative with respect to ``value``.
    """
    kept_apart()
    incoming, shares, terms = parts.pulls.copy(), workspace[0], workspace[1]
    parts.pulls[:] = 0.0
    around.pulls[:] = 0.0
    within[:] = 0.0
    for s in range(rows.shape[0]):
        out, mirror, left, right = rows[s, OUT], rows[s, MIRROR], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        if max(around.scores[out], around.scores[mirror]) == -np.inf or value[out] == -np.inf:
            continue
        shares[:count] = 0.0
        mass = _take_run(around.pulls, around.origins, left, count, 2 * s, shares)
        if right >= 0:
            mass += _take_run(around.pulls, around.origins, right, count, 2 * s + 1, shares)
        if each >= 0:
            mass += _take_run(incoming, parts.origins, each, count, 2 * s, shares)
        total = 0.0
        if mass != 0.0:
            share_out(left, right, each, count, shares, within, parts.pulls)
            total = shares[:count].sum()
            within[out] -= total  # a bound is that of the cell, less the cell's best score, plus the term
        if whole >= 0:
            parts.pulls[whole] += total
            if parts.origins[whole] == 2 * s + 1:
                total += incoming[whole]
        around.pulls[out if around.scores[out] >= around.scores[mirror] else mirror] += total
    within[top] += around.pulls[top]
    _pull_best(rows, weight_scores, value, terms, shares, within, parts.pulls)


@inner
def _take_run(waiting: Array, origins: Array, first: int, count: int, origin: int, shares: Array) -> float:
    """Add to ``shares`` the derivatives with respect to the bounds of a run that have this origin.

    ``waiting`` has the derivatives with respect to all bounds. Return the sum of the absolute values added.
    """
    start, code, size = np.uint64(first), np.int32(origin), 0.0
    for k in range(np.uint64(count)):
        taken = waiting[start + k] if origins[start + k] == code else 0.0
        shares[k] += taken
        size += abs(taken)
    return size


@inner
def _pull_best(
    rows: Array, weight_scores: Array, value: Array, terms: Array, shares: Array, derivative: Array, pulls: Array
) -> None:
    """Pass the derivative with respect to the best scores of cells on to the weights of their best terms.

    ``derivative`` is ``(cells,)``; it is added to ``pulls (weights,)``. ``terms`` and ``shares`` are overwritten.
    """
    for s in range(rows.shape[0] - 1, -1, -1):
        out, mirror, left, right = rows[s, OUT], rows[s, MIRROR], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        mass = derivative[out] + (derivative[mirror] if mirror != out else 0.0)
        if mass == 0.0 or value[out] == -np.inf:
            continue
        terms[:count] = 0.0
        add_factors(left, right, each, count, value, weight_scores, terms)
        shares[:count] = 0.0
        shares[np.argmax(terms[:count])] = mass
        share_out(left, right, each, count, shares, derivative, pulls)
        if whole >= 0:
            pulls[whole] += mass


@inner
def take_factors(scores: Array, places: Array, factors: Array, best: Array, parts: Bounds, grads: Array) -> None:
    """Move the factors of max-marginals to the weights that attain these, ``parts.pulls``; ``factors`` becomes 0.

    Of the weights with one place, the first of the best ones gets the factors. The max-marginal of a value is the
    bound of its weight, plus its score minus that of the best value of its feature: the gradient of this
    difference is added to ``grads``. ``best (places,)`` is overwritten.
    """
    kept_apart()
    parts.pulls[:] = 0.0
    best[:] = -np.inf
    for i in range(places.shape[0]):
        best[places[i]] = max(best[places[i]], parts.scores[i])
    for i in range(places.shape[0]):
        if parts.scores[i] == -np.inf or parts.scores[i] < best[places[i]]:
            continue
        _take_value(scores, places[i], i, factors, parts.pulls, grads)


@inner
def _take_value(scores: Array, place: int, weight: int, factors: Array, pulls: Array, grads: Array) -> None:
    """Move the factors at a place to a weight."""
    if scores.ndim == 1:
        pulls[weight] += factors[place] if scores[place] > -np.inf else 0.0
        factors[place] = 0.0
    else:
        for feature in range(scores.shape[1]):
            chosen = best_of(scores, place, feature)
            for value in range(scores.shape[2]):
                factor = factors[place, feature, value]
                if scores[place, feature, value] > -np.inf:
                    pulls[weight] += factor
                    grads[place, feature, value] += factor
                    grads[place, feature, chosen] -= factor
                factors[place, feature, value] = 0.0


@inner
def spread_best(scores: Array, places: Array, pulls: Array, grads: Array) -> None:
    """Add ``pulls (weights,)``, for each weight, to ``grads`` at the best value of each of its features."""
    kept_apart()
    for i in range(places.shape[0]):
        if pulls[i] != 0.0:
            _spread_best_value(scores, places[i], pulls[i], grads)


@inner
def _spread_best_value(scores: Array, place: int, pull: float, grads: Array) -> None:
    """Add the pull of a weight to ``grads`` at its place."""
    if scores.ndim == 1:
        grads[place] += pull
    else:
        for feature in range(scores.shape[1]):
            grads[place, feature, best_of(scores, place, feature)] += pull
