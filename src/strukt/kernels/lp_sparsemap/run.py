"""The iterations of whole batches, gaps, and moves along the faces of solutions."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.kernels.lp_sparsemap.band import band_support
from strukt.kernels.lp_sparsemap.faces import find_faces
from strukt.kernels.lp_sparsemap.or_out import or_out_support
from strukt.kernels.lp_sparsemap.pair import best_joint
from strukt.kernels.lp_sparsemap.polish import intersect, polish_item
from strukt.kernels.lp_sparsemap.state import (
    BAND,
    DONE,
    ORACLE,
    PAIR,
    POLISH,
    RUNNING,
    Faces,
    Graph,
    State,
)
from strukt.kernels.lp_sparsemap.sweep import decide, project_factors, take_back, update


@kernel
def run(graph: Graph, state: State, most: int, start: int, step: int) -> None:
    """Iterate on the items of graphs without oracles until they converge, at most ``most`` times each."""
    work, sums, faces = _workspace(graph)
    for item in range(start, state.mode.shape[0], step):
        while state.mode[item] != DONE and state.iterations[item] < most:
            if state.mode[item] == POLISH:
                find_faces(graph, state.pair_scores[item], state.labels[item], state.tight[item], faces)
                polish_item(graph, state, item, faces)
            _iterate(graph, state, item, most, work, sums)


@kernel
def advance(graph: Graph, state: State, most: int, start: int, step: int) -> None:
    """Run one iteration on the items whose oracles have computed their points; leave polishing to the caller."""
    work, sums, _ = _workspace(graph)
    for item in range(start, state.mode.shape[0], step):
        if state.mode[item] != DONE:
            _iterate(graph, state, item, most, work, sums)


@inner
def _iterate(graph: Graph, state: State, item: int, most: int, work: Array, sums: Array) -> None:
    """Project an item onto all factors, then update its marginals if it is running.

    The last iteration updates nothing, and takes back polished points that have not improved.
    """
    project_factors(graph, state, item, work)
    decide(graph, state, item, sums)
    if state.iterations[item] < most:
        if state.mode[item] == RUNNING:
            update(graph, state, item, sums)
    elif state.mode[item] == POLISH and state.tries[item] > 0:
        take_back(graph, state, item)


@inner
def _workspace(graph: Graph) -> tuple[Array, Array, Faces]:
    """Allocate workspace for one item: for a factor ``(3, widest)``, for variables ``(V,)``, and for faces."""
    m, count = graph.copies.shape[0], graph.kinds.shape[0]
    none = np.zeros(count, np.int64)
    faces = Faces(np.zeros(m, np.int8), np.zeros(m), np.zeros(m), np.zeros(0), none, none)
    return np.empty((3, graph.widest)), np.empty(graph.degrees.shape[0]), faces


@kernel
def last_points(graph: Graph, state: State, start: int, step: int) -> None:
    """Project items that have not converged onto their closed-form factors, at their current marginals.

    This writes ``points``, ``labels`` and ``tight`` of the state.
    """
    work, _, _ = _workspace(graph)
    for item in range(start, state.mode.shape[0], step):
        if state.mode[item] != DONE:
            project_factors(graph, state, item, work)


@kernel
def gaps(graph: Graph, state: State, result: Array, best: Array, start: int, step: int) -> None:
    """Write sums over closed-form factors: of their gaps, ``result (batch,)``, and best scores, ``best (batch,)``.

    The gap of a factor is the absolute difference between the two scores that `_gain` returns.
    """
    work = np.empty((2, graph.widest))
    for item in range(start, state.mode.shape[0], step):
        result[item] = best[item] = 0.0
        for f in range(graph.kinds.shape[0]):
            if graph.kinds[f] != ORACLE:
                gain, held = _gain(graph, state, item, f, work)
                result[item] += abs(gain - held)
                best[item] += gain


@inner
def _gain(graph: Graph, state: State, item: int, f: int, work: Array) -> tuple[float, float]:
    """Return the largest score of a point in the polytope of a closed-form factor, and the score of the marginals.

    A score is the inner product of multipliers and point, both as the factor sees them, plus the score of a pair
    times m, the probability that both variables are 1.
    """
    first, last = graph.starts[f], graph.starts[f + 1]
    size, held = last - first, 0.0
    for j in range(size):
        value = state.marginals[item, graph.copies[first + j]]
        work[0, j] = graph.signs[first + j] * state.multipliers[item, first + j]
        work[1, j] = value if graph.signs[first + j] > 0.0 else 1.0 - value
        held += work[0, j] * work[1, j]
    if graph.kinds[f] == BAND:
        return band_support(work[0, :size], graph.costs[first:last], graph.low[f], graph.high[f]), held
    if graph.kinds[f] != PAIR:
        return or_out_support(work[0, :size]), held
    score = state.pair_scores[item, graph.pair[f]]
    together = best_joint(work[1, 0], work[1, 1], score)
    if together != 0.0 and score > -np.inf:
        held += score * together
    s, t = work[0, 0], work[0, 1]
    return max(max(0.0, s), max(t, s + t + score)), held


@kernel
def faces_of_all(graph: Graph, state: State, unit: Array, faces: Faces, start: int, step: int) -> None:
    """Write the faces of all closed-form factors, batch first.

    Tilts are written for ``unit (q,)`` in place of the scores of pairs: with ones, they are the derivatives of m.
    """
    for item in range(start, state.mode.shape[0], step):
        find_faces(graph, unit, state.labels[item], state.tight[item], _of_item(faces, item))


@inner
def _of_item(faces: Faces, item: int) -> Faces:
    """Return the faces of one item of a batch."""
    return Faces(
        faces.labels[item],
        faces.normals[item],
        faces.tilts[item],
        faces.basis,
        faces.basis_starts[item],
        faces.basis_counts[item],
    )


@kernel
def project_onto_faces(
    graph: Graph, faces: Faces, free: Array, directions: Array, result: Array, start: int, step: int
) -> None:
    """Write to ``result`` the moves along the faces of all factors that are nearest to the directions.

    This is the derivative of the marginals, a symmetric projection. ``free``, ``directions`` and ``result`` are
    ``(batch, V)``; faces have the batch first.
    """
    m = graph.copies.shape[0]
    y, offset = np.empty(m), np.zeros(m)
    for item in range(start, directions.shape[0], step):
        intersect(graph, _of_item(faces, item), free[item], directions[item], offset, result[item], y)
