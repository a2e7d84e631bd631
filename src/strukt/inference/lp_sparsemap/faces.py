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
"""Singular values of the centred assignments below this, relative to the largest one, count as 0."""


def all_faces(graph: Graph, state: State, faces: Sequence[Face | None]) -> Faces:
    """Return the faces of all factors, batch first; the ``tilts`` of a pair are those for a pair score of 1."""
    batch, m = len(state.mode), len(graph.copies)
    tilts, *bases = bases_of_oracles(graph, faces, slice(batch), batch)
    result = Faces(np.zeros((batch, m), np.int8), np.zeros((batch, m)), tilts, *bases)
    unit = np.ones(int(graph.pair.max(initial=-1)) + 1)
    over_batch(faces_of_all, 1, graph, state, unit, result)
    return result


def bases_of_oracles(
    graph: Graph, faces: Sequence[Face | None], items: slice, count: int
) -> tuple[Array, Array, Array, Array]:
    """Return the faces of the oracles of ``count`` items: tilts and bases, as in `Faces`, with the items first."""
    tilts, rows, used = np.zeros((count, len(graph.copies))), [np.zeros(0)], 0
    starts, counts = (np.zeros((count, len(graph.kinds)), np.int64) for _ in range(2))
    for face, f in zip(faces, np.flatnonzero(graph.kinds == ORACLE), strict=True):
        assert face is not None or not count
        parts = () if face is None else (face.weights, face.vertices, face.scores)
        arrays = (numpy_of(part[items]) for part in parts)
        for i, each in enumerate(zip(*arrays, strict=True)):
            basis, tilts[i, graph.starts[f] : graph.starts[f + 1]] = oracle_faces(graph, int(f), *each)
            starts[i, f], counts[i, f] = used, len(basis)
            used += basis.size
            rows.append(basis.ravel())
    return tilts, np.concatenate(rows), starts, counts


def differentiable(
    graph: Graph, free: Array, along: Faces, scores: Tensor, pair_scores: Tensor, oracles: Sequence[OracleFactor],
    faces: Sequence[Face | None], marginals: Tensor,
) -> Tensor:  # fmt: skip
    """Return the same marginals, differentiable in the scores, the pair scores and the oracles' local scores.

    ``free (batch, V)`` is 0 for variables that never move, and 1 for all others, as in `State`.
    """
    moved = torch.where(scores > -torch.inf, scores, 0.0).double()
    moved = moved + _pairs(graph, along, pair_scores.double())
    for k, f in enumerate(np.flatnonzero(graph.kinds == ORACLE)):
        face = faces[k]
        if face is not None:
            moved = _add_local_scores(graph, moved, oracles[k], face, int(f))
    return attach(moved, marginals, Projection(graph, along, free))


def _pairs(graph: Graph, along: Faces, pair_scores: Tensor) -> Tensor:
    """Return scores of variables ``(batch, V)`` with the same effect in the faces as the scores of pairs."""
    first = graph.starts[:-1][graph.kinds == PAIR]
    columns = torch.from_numpy(graph.pair[graph.kinds == PAIR]).to(pair_scores.device)
    scores = torch.where(pair_scores > -torch.inf, pair_scores, 0.0)[:, columns]
    total = torch.zeros(len(scores), len(graph.degrees), dtype=scores.dtype, device=scores.device)
    for place in (first, first + 1):
        slopes = torch.from_numpy(along.tilts[:, place]).to(scores.device)
        total = total.index_add(1, torch.from_numpy(graph.copies[place]).to(scores.device), slopes * scores)
    return total


def _add_local_scores(graph: Graph, moved: Tensor, oracle: OracleFactor, face: Face, f: int) -> Tensor:
    """Add scores of variables with the same effect in a face as the local scores of its assignments."""
    local = oracle.local_scores(face.vertices.transpose(0, 1)).T
    if not carries_derivative(local):
        return moved
    part = slice(graph.starts[f], graph.starts[f + 1])
    vertices = face.vertices.double() * torch.from_numpy(graph.signs[part]).to(moved.device)
    centred = vertices - vertices.mean(1, keepdim=True)
    tilt = torch.linalg.pinv(centred, rtol=DEPENDENT) @ local.double().unsqueeze(-1)
    return moved.index_add(1, torch.from_numpy(graph.copies[part]).to(moved.device), tilt.squeeze(-1))
