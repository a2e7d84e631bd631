"""The data of the kernels: the graph, which all items share, and the state of each item of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from strukt.kernels.arrays import Array

BAND, OR_OUT, PAIR, ORACLE = 0, 1, 2, 3
"""The kinds of factors: three with closed forms, and ORACLE for all others."""

RUNNING, TRIAL, POLISH, DONE = 0, 1, 2, 3
"""The modes of an item: iterating, testing a polished point, requesting to be polished, or converged."""


class Graph(NamedTuple):
    """A layout of V variables, F factors and m copies, with the derived arrays that the kernels need.

    Copies, starts, kinds, costs, low, high and pair are those of `strukt.inference.lp_sparsemap.graph.Layout`.

    Attributes:
        signs: ``(m,)``, -1.0 where the layout is negated: where the factor sees 1 minus the variable.
        degrees: ``(V,)``, the number of copies of each variable, as floats.
        curvature: 1.0, or 0.0 for the linear program.
        widest: The largest number of copies of a factor.
    """

    copies: Array
    signs: Array
    starts: Array
    kinds: Array
    costs: Array
    low: Array
    high: Array
    pair: Array
    degrees: Array
    curvature: float
    widest: int


class State(NamedTuple):
    """The state of the items of a batch: all arrays have the axis of the items first, omitted here.

    Attributes:
        scores: ``(V,)``, the scores of the variables; 0 for forbidden ones.
        free: ``(V,)``, 0.0 for variables that never move: forbidden, or in no factor and at a bound; else 1.0.
        pair_scores: ``(q,)``, the scores of pairs.
        marginals: ``(V,)``, the current marginals.
        multipliers: ``(m,)``; at each variable they sum to the scores minus curvature times marginals.
        points: ``(m,)``, the solution of each factor at marginals + multipliers / step.
        labels: ``(m,)``, the movement of each copy along the face of the point.
        tight: ``(F,)``, whether the face lies in a plane of its factor; for a pair, the region of m.
        curvature: The curvature of the iterated problem: 1.0, or the weight of the proximal term of LP-MAP.
        center: ``(V,)``, the centre of the proximal term; 0 for LP-SparseMAP.
        begun: The iteration at which the centre was set.
        step: The step size of ADMM, its penalty parameter rho.
        scale: The step size that suits the size of the scores, relative to which step sizes are bounded.
        mode: RUNNING, TRIAL, POLISH or DONE.
        iterations: The number of times that the factors have been solved.
        polish_at: The iteration of the next polishing.
        error: The distance of the last points from the marginals, times the step size if that is above 1.
        primal: The largest ``|point - marginal|``.
        dual: The largest ``step |marginal - marginal before|``.
        tries: The number of successive trials without an improvement.
        kept_marginals: The marginals to restore if polishing does not help.
        kept_multipliers: The multipliers to restore.
        kept_points: The points to restore.
        kept_error: The error to restore.
        threshold: The error at which an item has converged.
    """

    scores: Array
    free: Array
    pair_scores: Array
    marginals: Array
    multipliers: Array
    points: Array
    labels: Array
    tight: Array
    curvature: Array
    center: Array
    begun: Array
    step: Array
    scale: Array
    mode: Array
    iterations: Array
    polish_at: Array
    error: Array
    primal: Array
    dual: Array
    tries: Array
    kept_marginals: Array
    kept_multipliers: Array
    kept_points: Array
    kept_error: Array
    threshold: Array


def empty_state(graph: Graph, scores: Array, free: Array, pair_scores: Array, threshold: Array) -> State:
    """Allocate the state of a batch; marginals and multipliers are still 0. The arrays are those of `State`."""
    batch, copies, factors = len(scores), len(graph.copies), len(graph.kinds)

    def zeros(*shape: int, dtype: Any = np.float64) -> Array:
        return np.zeros((batch, *shape), dtype)

    return State(
        scores=scores,
        free=free,
        pair_scores=pair_scores,
        marginals=zeros(scores.shape[1]),
        multipliers=zeros(copies),
        points=zeros(copies),
        labels=zeros(copies, dtype=np.int8),
        tight=zeros(factors, dtype=np.int8),
        curvature=np.ones(batch),
        center=zeros(scores.shape[1]),
        begun=zeros(dtype=np.int64),
        step=np.ones(batch),
        scale=np.ones(batch),
        mode=zeros(dtype=np.int64),
        iterations=zeros(dtype=np.int64),
        polish_at=zeros(dtype=np.int64),
        error=zeros() + np.inf,
        primal=zeros() + np.inf,
        dual=zeros() + np.inf,
        tries=zeros(dtype=np.int64),
        kept_marginals=zeros(scores.shape[1]),
        kept_multipliers=zeros(copies),
        kept_points=zeros(copies),
        kept_error=zeros() + np.inf,
        threshold=threshold,
    )


class Faces(NamedTuple):
    """The faces of the factors of one item: the directions in which copies may move (see `faces.py`).

    Attributes:
        labels: ``(m,)``, the movement of each copy.
        normals: ``(m,)``, the unit normal of the plane that a face lies in, over its free copies; else 0.
        tilts: ``(m,)``, the derivative of the factors' local scores with respect to the copies, along the face.
        basis: Orthonormal directions of the faces of all oracles, row by row in one flat array.
        basis_starts: ``(F,)``, the offset of each factor's directions in ``basis``.
        basis_counts: ``(F,)``, the number of each factor's directions.
    """

    labels: Array
    normals: Array
    tilts: Array
    basis: Array
    basis_starts: Array
    basis_counts: Array
