"""The faces of the factors' polytopes that contain their points, and projections onto the faces' directions.

The face of a closed-form factor needs no basis. A copy is fixed (FIXED), moves alone (FREE) or moves together with
the other POOLED copies of its factor. A face that lies in a plane has a unit normal over its free copies; no move
along the face has a component along the normal. The face of an oracle has an orthonormal basis, computed from its
vertices.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, write
from strukt.kernels.lp_sparsemap.band import FIXED, FREE, POOLED
from strukt.kernels.lp_sparsemap.pair import APART, pair_slopes
from strukt.kernels.lp_sparsemap.state import BAND, OR_OUT, ORACLE, PAIR, Faces, Graph

DEPENDENT = 1e-9
"""A direction counts as dependent if the squared length of its component orthogonal to the earlier ones is at most
this, relative to its own."""


@kernel
def find_faces(graph: Graph, pair_scores: Array, labels: Array, tight: Array, faces: Faces) -> None:
    """Write ``normals``, ``tilts`` and ``labels (m,)`` of closed-form factors to ``faces``; skip oracles.

    The other arrays are those of one item in `State`: ``pair_scores (q,)``, ``labels (m,)`` and ``tight (F,)``.
    """
    for f in range(graph.kinds.shape[0]):
        first, last = graph.starts[f], graph.starts[f + 1]
        kind = graph.kinds[f]
        if kind == ORACLE:
            continue
        write(faces.labels[first:last], labels[first:last])
        faces.normals[first:last] = 0.0
        faces.tilts[first:last] = 0.0
        if kind == PAIR:
            _pair_tilts(graph, pair_scores[graph.pair[f]], tight[f], first, faces)
        if (tight[f] == APART) if kind == PAIR else (tight[f] != 0):
            _find_normal(graph, kind, first, last, faces)


@inner
def _pair_tilts(graph: Graph, score: float, region: int, first: int, faces: Faces) -> None:
    """Write the tilts of the two copies of a pair, from index ``first`` on, that are not fixed.

    They are the derivatives, along the face, of the score times m, the probability that both variables are 1.
    """
    slopes = pair_slopes(region)
    if faces.labels[first] != FIXED and slopes[0] != 0.0:
        faces.tilts[first] = graph.signs[first] * slopes[0] * score
    if faces.labels[first + 1] != FIXED and slopes[1] != 0.0:
        faces.tilts[first + 1] = graph.signs[first + 1] * slopes[1] * score


@inner
def _find_normal(graph: Graph, kind: int, first: int, last: int, faces: Faces) -> None:
    """Write the unit normal of the plane of a face, over the factor's free copies: ``first`` to ``last - 1``."""
    norm = 0.0
    for j in range(first, last):
        if faces.labels[j] == FREE:
            cost = graph.costs[j] if kind == BAND else 1.0
            if kind == OR_OUT and j == last - 1:
                cost = -1.0
            faces.normals[j] = graph.signs[j] * cost
            norm += cost * cost
    if norm > 0.0:
        for j in range(first, last):
            faces.normals[j] /= np.sqrt(norm)


@kernel
def project_across_faces(graph: Graph, faces: Faces, values: Array) -> None:
    """Replace ``values (m,)`` by their components orthogonal to each factor's face: ``(I - P) values``."""
    for f in range(graph.kinds.shape[0]):
        first, last = graph.starts[f], graph.starts[f + 1]
        if graph.kinds[f] == ORACLE:
            _leave_basis(faces, f, values[first:last])
            continue
        along, pooled, count = 0.0, 0.0, 0
        for j in range(first, last):
            along += faces.normals[j] * values[j]
            if faces.labels[j] == POOLED:
                pooled += graph.signs[j] * values[j]
                count += 1
        for j in range(first, last):
            if faces.labels[j] == FREE:
                values[j] = faces.normals[j] * along
            elif faces.labels[j] == POOLED:
                values[j] -= graph.signs[j] * pooled / count


@inner
def _leave_basis(faces: Faces, f: int, values: Array) -> None:
    """Subtract from ``values (size,)`` their projection onto the basis of oracle f, in place."""
    size = values.shape[0]
    for k in range(faces.basis_counts[f]):
        row = faces.basis[faces.basis_starts[f] + k * size : faces.basis_starts[f] + (k + 1) * size]
        along = 0.0
        for j in range(size):
            along += row[j] * values[j]
        for j in range(size):
            values[j] -= along * row[j]


@kernel
def orthonormal(directions: Array, changes: Array, basis: Array) -> tuple[int, Array]:
    """Compute an orthonormal basis of directions, and the vector in their span with given inner products.

    Modified Gram-Schmidt with reorthogonalisation; dependent directions are left out.

    Args:
        directions: ``(k, size)``.
        changes: ``(k,)``, the requested product with each direction.
        basis: ``(k, size)``, the result: the first rows are the basis.

    Returns:
        The number of vectors, and the vector ``(size,)``.
    """
    count, size = 0, directions.shape[1]
    tilt = np.zeros(size)
    for k in range(directions.shape[0]):
        row, change, before = basis[count], changes[k], 0.0
        for j in range(size):
            row[j] = directions[k, j]
            before += row[j] * row[j]
        for _ in range(2):
            for i in range(count):
                along, product = 0.0, 0.0
                for j in range(size):
                    along += basis[i, j] * row[j]
                    product += basis[i, j] * tilt[j]
                for j in range(size):
                    row[j] -= along * basis[i, j]
                change -= along * product
        after = 0.0
        for j in range(size):
            after += row[j] * row[j]
        if after <= DEPENDENT * before:
            continue
        for j in range(size):
            row[j] /= np.sqrt(after)
            tilt[j] += change / np.sqrt(after) * row[j]
        count += 1
    return count, tilt


def oracle_faces(graph: Graph, f: int, weights: Array, vertices: Array, scores: Array) -> tuple[Array, Array]:
    """Return a basis ``(count, size)`` of the face of one oracle's point, and the tilt ``(size,)`` of the face.

    The tilt is the derivative of the local score along the face. Vertices of weight 0 count: they are tied, and
    span directions in which the point can move.

    Args:
        graph: The graph.
        f: The index of the factor.
        weights: ``(k,)``, the weights of the vertices in the point.
        vertices: ``(k, size)``, assignments of 0 and 1.
        scores: ``(k,)``, the local scores of the vertices.
    """
    shown = vertices * graph.signs[graph.starts[f] : graph.starts[f + 1]]
    base = int(weights.argmax())
    directions = np.ascontiguousarray(np.delete(shown, base, 0) - shown[base : base + 1])
    changes = np.ascontiguousarray(np.delete(scores, base) - scores[base : base + 1])
    basis = np.zeros_like(directions)
    count, tilt = orthonormal(directions, changes, basis)
    return basis[:count], tilt
