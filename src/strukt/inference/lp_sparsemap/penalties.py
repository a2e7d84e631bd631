"""Clipping of penalties, so that iterative solvers converge.

Penalties are scores whose absolute value is far larger than that of all others, such as masks; those of positive
sign are rewards. If the optimum under clipped scores uses no penalised variable and every rewarded one, it is also
the optimum under the original scores: undoing the clipping changes the objective by the same amount at all such
points, and raises it by no more than that at all others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from strukt.inference.lp_sparsemap.graph import PAIR
from strukt.kernels.arrays import Floats
from strukt.kernels.lp_sparsemap.state import Graph

Mask = npt.NDArray[np.bool_]

FAR = 1e3
"""A score s is a penalty if |s| > FAR * (1 + |t|), where t is the score of the next smaller absolute value, 0 for
the smallest. All scores of larger absolute value are then penalties, too.

Without clipping, solvers did not converge with a score of -1e5 beside scores of 1.
"""

CLEAR = 1e-9
"""The distance from 0 or 1 within which a marginal counts as 0 or 1."""


def limits_of(scores: Floats, pair_scores: Floats) -> Floats:
    """Return the absolute value ``(batch,)`` to which penalties are clipped; infinity for items without penalties.

    Args:
        scores: ``(batch, V)``; -inf is no penalty.
        pair_scores: ``(batch, q)``; -inf is no penalty.
    """
    values = np.concatenate((np.zeros((len(scores), 1)), scores, pair_scores), axis=1)
    sizes = np.sort(np.where(np.isfinite(values), np.abs(values), 0.0), axis=1)
    limits = FAR * (1.0 + sizes[:, :-1])
    return np.asarray(np.where(sizes[:, 1:] > limits, limits, np.inf).min(axis=1, initial=np.inf))


def clipped(scores: Floats, limits: Floats) -> Floats:
    """Clip scores ``(batch, k)`` to the limits ``(batch,)``; -inf stays."""
    return np.where(scores > -np.inf, np.clip(scores, -limits[:, None], limits[:, None]), scores)


def is_unaffected_by_clipping(
    graph: Graph, marginals: Floats, scores: Floats, pair_scores: Floats, limits: Floats
) -> Mask:
    """Return a mask ``(batch,)``: True for an item whose optimum under clipped scores is surely the original one.

    In such an item, all penalised variables and pairs have marginal 0, and all rewarded ones have marginal 1.
    ``marginals (batch, V)`` are the optimum under clipped scores, the scores themselves are not clipped, and
    ``limits`` are those of `limits_of`.
    """
    copies = np.where(graph.signs > 0.0, marginals[:, graph.copies], 1.0 - marginals[:, graph.copies])
    pairs = graph.kinds == PAIR
    first, columns = graph.starts[:-1][pairs], graph.pair[pairs]
    a, b = copies[:, first], copies[:, first + 1]
    together = np.where(pair_scores[:, columns] < 0.0, a + b - 1.0, np.minimum(a, b))
    values = np.concatenate((marginals, together), axis=1)
    original = np.concatenate((scores, pair_scores[:, columns]), axis=1)
    penalised, rewarded = original < -limits[:, None], original > limits[:, None]
    missed = (penalised & (values > CLEAR)) | (rewarded & (values < 1.0 - CLEAR))
    return np.asarray(~missed.any(axis=1))
