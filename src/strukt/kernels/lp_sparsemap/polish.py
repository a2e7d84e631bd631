"""The projection onto the intersection of the faces of all factors, by conjugate gradients (CG).

R_f selects the variables of factor f, and P_f projects onto the directions of its face. E stacks ``(I - P_f) R_f``
of all factors. A move d of the variables stays in all faces if E d = 0. The nearest such d to g is ``g - E'y``
with ``E E' y = E g``: a singular but consistent system, which conjugate gradients from 0 solve without a matrix
(Nocedal and Wright 2006, section 16.3).
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, write
from strukt.kernels.lp_sparsemap.faces import project_across_faces
from strukt.kernels.lp_sparsemap.state import TRIAL, Faces, Graph, State

ROUNDING = 2e-16
"""The rounding error of a number of size 1."""

SINGULAR = 1e-12
"""The squared length of ``E'`` times a direction, relative to the direction's, below which the direction counts as
singular: no move can reduce the remaining residual."""

RESTARTS = 3
"""The largest number of runs of conjugate gradients, each from a recomputed residual."""


@inner
def across(graph: Graph, faces: Faces, free: Array, values: Array, result: Array) -> None:
    """Write ``E values``, for ``values (V,)``, to ``result (m,)``; values that never move count as 0."""
    for j in range(result.shape[0]):
        result[j] = free[graph.copies[j]] * values[graph.copies[j]]
    project_across_faces(graph, faces, result)


@kernel
def intersect(
    graph: Graph, faces: Faces, free: Array, requested: Array, offset: Array, d: Array, y: Array
) -> None:
    """Write the move d nearest to the requested one with ``E d = offset``, and the multipliers y of the faces.

    Args:
        graph: The graph.
        faces: The faces of one item.
        free: ``(V,)``, 0.0 for variables that never move.
        requested: ``(V,)``, the requested moves.
        offset: ``(m,)``, in the range of E.
        d: ``(V,)``, the result.
        y: ``(m,)``, the result, with ``d = requested - E'y``.
    """
    m, v = y.shape[0], d.shape[0]
    residual, direction, back = np.empty(m), np.empty(m), np.empty(v)
    y[:] = 0.0
    for i in range(v):
        d[i] = free[i] * requested[i]
    for _ in range(RESTARTS):
        size = 0.0
        for i in range(v):
            size = max(size, abs(d[i]))
        across(graph, faces, free, d, residual)
        norm = 0.0
        for j in range(m):
            residual[j] -= offset[j]
            size = max(size, abs(offset[j]))
            norm += residual[j] * residual[j]
        least = m * (ROUNDING * size) ** 2
        if norm <= 16.0 * least:
            break
        _conjugate(graph, faces, free, norm, least, d, y, residual, direction, back)


@inner
def _conjugate(
    graph: Graph, faces: Faces, free: Array, norm: float, least: float, d: Array, y: Array,
    residual: Array, direction: Array, back: Array,
) -> None:  # fmt: skip
    """Run conjugate gradients from the present d and y; ``residual`` is ``E d`` minus the offset."""
    m, v = y.shape[0], d.shape[0]
    change = np.empty(m)
    write(direction, residual)
    for _ in range(2 * v + 20):
        back[:] = 0.0
        length = 0.0
        for j in range(m):
            back[graph.copies[j]] += direction[j]
            length += direction[j] * direction[j]
        curvature = 0.0
        for i in range(v):
            back[i] *= free[i]
            curvature += back[i] * back[i]
        if not curvature > SINGULAR * length:
            break
        length = norm / curvature
        for i in range(v):
            d[i] -= length * back[i]
        across(graph, faces, free, back, change)
        following = 0.0
        for j in range(m):
            y[j] += length * direction[j]
            residual[j] -= length * change[j]
            following += residual[j] * residual[j]
        if following <= least:
            break
        ratio = following / norm
        for j in range(m):
            direction[j] = residual[j] + ratio * direction[j]
        norm = following


@kernel
def polish_item(graph: Graph, state: State, item: int, faces: Faces) -> None:
    """Move an item to the optimum on the faces of its points, and set its mode to TRIAL.

    Let eta be the scores plus curvature times the centre, nu_f the component of the multipliers of factor f
    orthogonal to its face, and e_f the tilt of the face. The projection of eta + sum_f (e_f - nu_f) is curvature
    times the solution. If y are the multipliers of that projection, the new multipliers are nu_f + y_f - e_f.
    """
    m, v = graph.copies.shape[0], graph.degrees.shape[0]
    marginals, multipliers, points = state.marginals[item], state.multipliers[item], state.points[item]
    free = state.free[item]
    if state.tries[item] == 0:
        state.kept_marginals[item], state.kept_multipliers[item] = marginals, multipliers
        state.kept_points[item], state.kept_error[item] = points, state.error[item]
    moves, offset, d, y = np.empty(v), np.empty(m), np.empty(v), np.empty(m)
    curvature = state.curvature[item]
    for i in range(v):
        moves[i] = state.scores[item, i] + curvature * state.center[item, i]
    project_across_faces(graph, faces, multipliers)
    for j in range(m):
        moves[graph.copies[j]] += faces.tilts[j] - multipliers[j]
        offset[j] = points[j] if free[graph.copies[j]] > 0.0 else points[j] - marginals[graph.copies[j]]
    project_across_faces(graph, faces, offset)
    for i in range(v):
        moves[i] /= curvature
    intersect(graph, faces, free, moves, offset, d, y)
    for j in range(m):
        multipliers[j] += curvature * y[j] - faces.tilts[j]
    for i in range(v):
        if free[i] > 0.0:
            marginals[i] = d[i]
    state.mode[item] = TRIAL
