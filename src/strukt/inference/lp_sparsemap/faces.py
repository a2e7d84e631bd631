"""Derivatives of LP-SparseMAP: the projection onto the directions along which all factors stay in their faces.

Within its faces the solution is linear in the scores: ``mu = Pi (scores + local scores) + constant``, where Pi is
the symmetric projection onto the intersection of the faces. Derivatives of any order follow from Pi alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from strukt.inference.lp_sparsemap.graph import ORACLE, PAIR, Face, OracleFactor
from strukt.kernels.arrays import Array
from strukt.kernels.jit import over_batch
from strukt.kernels.lp_sparsemap.derivative import Projection, attach
from strukt.kernels.lp_sparsemap.faces import oracle_faces
from strukt.kernels.lp_sparsemap.run import faces_of_all
from strukt.kernels.lp_sparsemap.state import Faces, Graph, State
from strukt.kernels.undifferentiated import carries_derivative, numpy_of

DEPENDENT = 1e-9
"""Differences between assignments span no direction if they are shorter than this, relative to the longest one."""


def all_faces(graph: Graph, state: State, faces: Sequence[Face | None]) -> Faces:
    """Return the faces of all factors, batch first; the ``tilts`` of a pair are those for a pair score of 1."""
    batch, m, count = len(state.mode), len(graph.copies), graph.kinds.shape[0]
    starts, counts = np.zeros((batch, count), np.int64), np.zeros((batch, count), np.int64)
    rows, used = [np.zeros(0)], 0
    for k, f in enumerate(np.flatnonzero(graph.kinds == ORACLE)):
        face = faces[k]
        assert face is not None or not batch
        arrays = [] if face is None else [numpy_of(v) for v in (face.weights, face.vertices, face.scores)]
        for item in range(batch):
            weights, vertices, scores = (array[item] for array in arrays)
            basis, _ = oracle_faces(graph, int(f), weights, vertices, scores)
            starts[item, f], counts[item, f] = used, len(basis)
            used += basis.size
            rows.append(basis.ravel())
    result = Faces(
        np.zeros((batch, m), np.int8),
        np.zeros((batch, m)),
        np.zeros((batch, m)),
        np.concatenate(rows),
        starts,
        counts,
    )
    unit = np.ones(int(graph.pair.max(initial=-1)) + 1)
    over_batch(faces_of_all, 1, graph, state, unit, result)
    return result


def differentiable(
    graph: Graph, free: Array, along: Faces, scores: Tensor, pair_scores: Tensor, oracles: Sequence[OracleFactor],
    faces: Sequence[Face | None], marginals: Tensor,
) -> Tensor:  # fmt: skip
    """Return the same marginals, differentiable in the scores, the pair scores and the oracles' local scores."""
    moved = torch.where(scores > -torch.inf, scores, 0.0).double()
    moved = moved + _pairs(graph, along, pair_scores.double())
    for k, f in enumerate(np.flatnonzero(graph.kinds == ORACLE)):
        face = faces[k]
        if face is not None:
            moved = _add_local_scores(graph, moved, oracles[k], face, int(f))
    return attach(moved, marginals, Projection(graph, along, free))


def _pairs(graph: Graph, along: Faces, pair_scores: Tensor) -> Tensor:
    """Return the contribution ``(batch, V)`` of the scores of pairs to those of variables."""
    first = graph.starts[:-1][graph.kinds == PAIR]
    columns = torch.from_numpy(graph.pair[graph.kinds == PAIR]).to(pair_scores.device)
    scores = torch.where(pair_scores > -torch.inf, pair_scores, 0.0)[:, columns]
    total = torch.zeros(len(scores), len(graph.degrees), dtype=scores.dtype, device=scores.device)
    for place in (first, first + 1):
        slopes = torch.from_numpy(along.tilts[:, place]).to(scores.device)
        total = total.index_add(1, torch.from_numpy(graph.copies[place]).to(scores.device), slopes * scores)
    return total


def _add_local_scores(graph: Graph, moved: Tensor, oracle: OracleFactor, face: Face, f: int) -> Tensor:
    """Add the local scores of the assignments of one face to the scores of the variables."""
    local = oracle.local_scores(face.vertices.transpose(0, 1)).T
    if not carries_derivative(local):
        return moved
    part = slice(graph.starts[f], graph.starts[f + 1])
    vertices = face.vertices.double() * torch.from_numpy(graph.signs[part]).to(moved.device)
    centred = vertices - vertices.mean(1, keepdim=True)
    tilt = torch.linalg.pinv(centred, rtol=DEPENDENT) @ local.double().unsqueeze(-1)
    return moved.index_add(1, torch.from_numpy(graph.copies[part]).to(moved.device), tilt.squeeze(-1))
