"""Penalties that are far larger than all other scores, such as masks: eased so that iterative solvers converge.

The optimum under eased scores is also the optimum under the original scores if it uses no penalised variable and
every rewarded one: easing leaves the value of such a point unchanged, and never lowers that of any other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from strukt.inference.lp_sparsemap.graph import PAIR
from strukt.kernels.lp_sparsemap.state import Graph

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FAR = 1e3
"""A penalty exceeds this many times the next smaller score plus 1; -1e5 beside scores of 1 did not converge."""

CLEAR = 1e-9
"""The distance from 0 or 1 within which a marginal counts as 0 or 1."""


def limits_of(scores: Array, pair_scores: Array) -> Array:
    """Return the size ``(batch,)`` to which penalties are eased; infinity for items without penalties.

    Args:
        scores: ``(batch, V)``; -inf is no penalty.
        pair_scores: ``(batch, q)``; -inf is no penalty.
    """
    given = np.concatenate((np.zeros((len(scores), 1)), scores, pair_scores), axis=1)
    sizes = np.sort(np.where(np.isfinite(given), np.abs(given), 0.0), axis=1)
    limits = FAR * (1.0 + sizes[:, :-1])
    return np.asarray(np.where(sizes[:, 1:] > limits, limits, np.inf).min(axis=1, initial=np.inf))


def eased(scores: Array, limits: Array) -> Array:
    """Return scores ``(batch, k)`` clipped to the limits ``(batch,)``; -inf stays."""
    return np.where(scores > -np.inf, np.clip(scores, -limits[:, None], limits[:, None]), scores)


def keep_clear(graph: Graph, marginals: Array, scores: Array, pair_scores: Array, limits: Array) -> Mask:
    """Return a mask ``(batch,)`` of items whose marginals use nothing penalised and everything rewarded."""
    seen = np.where(graph.signs > 0.0, marginals[:, graph.copies], 1.0 - marginals[:, graph.copies])
    pairs = graph.kinds == PAIR
    first, own = graph.starts[:-1][pairs], graph.own[pairs]
    a, b = seen[:, first], seen[:, first + 1]
    together = np.where(pair_scores[:, own] < 0.0, a + b - 1.0, np.minimum(a, b))
    values = np.concatenate((marginals, together), axis=1)
    given = np.concatenate((scores, pair_scores[:, own]), axis=1)
    penalised, rewarded = given < -limits[:, None], given > limits[:, None]
    missed = (penalised & (values > CLEAR)) | (rewarded & (values < 1.0 - CLEAR))
    return np.asarray(~missed.any(axis=1))
