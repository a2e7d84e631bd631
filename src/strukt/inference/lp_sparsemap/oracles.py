"""The calls of oracles in LP-SparseMAP: their points and faces, and the gains of their best assignments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from strukt.inference.lp_sparsemap.faces import bases_of_oracles
from strukt.inference.lp_sparsemap.graph import ORACLE, Face, OracleFactor
from strukt.kernels.arrays import Array
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.lp_sparsemap.faces import find_faces
from strukt.kernels.lp_sparsemap.polish import polish_item
from strukt.kernels.lp_sparsemap.run import advance
from strukt.kernels.lp_sparsemap.state import DONE, POLISH, Faces, Graph, State
from strukt.kernels.undifferentiated import numpy_of

MOST_CALLS, CALLS_PER_ROUND = 2000, 5
"""The maximum number of calls of a factor's mode oracle in one iteration of ADMM: ``CALLS_PER_ROUND`` times the
maximum number of iterations, but at most ``MOST_CALLS``. Early iterations need no exact solution."""


def run_with_oracles(
    graph: Graph, state: State, oracles: Sequence[OracleFactor], faces: list[Face | None], most: int,
    device: torch.device,
) -> None:  # fmt: skip
    """Iterate ADMM, with one projection by each oracle per iteration; update state and faces in place."""
    threads = thread_count(len(state.mode), 2 * state.points.size)
    calls = min(MOST_CALLS, CALLS_PER_ROUND * most)
    for _ in range(most):
        if (state.mode == DONE).all():
            return
        _call(graph, state, oracles, faces, calls, device)
        over_batch(advance, threads, graph, state, most)
        if (state.iterations[state.mode != DONE] >= most).any():
            break
        for item in np.flatnonzero(state.mode == POLISH):
            item_faces = _item_faces(graph, faces, int(item))
            find_faces(graph, state.pair_scores[item], state.labels[item], state.tight[item], item_faces)
            polish_item(graph, state, int(item), item_faces)


def _call(
    graph: Graph,
    state: State,
    oracles: Sequence[OracleFactor],
    faces: list[Face | None],
    calls: int,
    device: torch.device,
) -> None:
    """Update the points and faces of all oracles in place, except in items that have converged."""
    done = torch.from_numpy(state.mode == DONE).to(device)
    scale = torch.from_numpy(state.step).to(device)
    running = np.flatnonzero(state.mode != DONE)
    for k, f in enumerate(np.flatnonzero(graph.kinds == ORACLE)):
        part = slice(graph.starts[f], graph.starts[f + 1])
        signs = graph.signs[part]
        target = state.marginals[:, graph.copies[part]] + state.multipliers[:, part] / state.step[:, None]
        target = np.where(signs > 0, target, 1.0 - target)
        with torch.no_grad():
            face = oracles[k].project(torch.from_numpy(target).to(device), scale, faces[k], calls)
        faces[k] = _merge(done, faces[k], face)
        point = numpy_of(face.point)
        state.points[running, part] = np.where(signs > 0, point, 1.0 - point)[running]


def _merge(kept: Tensor, old: Face | None, new: Face) -> Face:
    """Return the old face for the items in ``kept``, the new one for all others."""
    if old is None or not kept.any():
        return new
    k = max(old.weights.shape[1], new.weights.shape[1])

    def choose(a: Tensor, b: Tensor, more: float) -> Tensor:
        wide = [torch.cat([x, more * x[:, :1].expand(-1, k - x.shape[1], *x.shape[2:])], 1) for x in (a, b)]
        return torch.where(kept.reshape(-1, *[1] * (a.dim() - 1)), wide[0], wide[1])

    return Face(
        torch.where(kept.unsqueeze(1), old.point, new.point),
        choose(old.weights, new.weights, 0.0),
        choose(old.vertices, new.vertices, 1.0),
        choose(old.scores, new.scores, 1.0),
    )


def _item_faces(graph: Graph, faces: Sequence[Face | None], item: int) -> Faces:
    """Return the faces of one item: those of its oracles, with empty faces for all other factors."""
    tilts, basis, starts, counts = bases_of_oracles(graph, faces, slice(item, item + 1), 1)
    m = len(graph.copies)
    return Faces(np.zeros(m, np.int8), np.zeros(m), tilts[0], basis, starts[0], counts[0])


def oracle_gain(
    graph: Graph, state: State, oracle: OracleFactor, face: Face, f: int, device: torch.device
) -> tuple[Array, Array]:
    """Return the score of the best assignment and the mean score under the marginals, ``(batch,)`` each.

    A score here is the sum of the multipliers of the variables that are 1, plus the local score.
    """
    part = slice(graph.starts[f], graph.starts[f + 1])
    signs = graph.signs[part]
    marginals = state.marginals[:, graph.copies[part]]
    current = np.where(signs > 0, marginals, 1.0 - marginals)
    main = state.multipliers[:, part] * signs
    with torch.no_grad():
        best = oracle.best(torch.from_numpy(main).to(device))
        local = oracle.local_scores(best.unsqueeze(0))[0]
    gain: Array = (numpy_of(best) * main).sum(1) + numpy_of(local)
    return gain, (current * main).sum(1) + (numpy_of(face.weights) * numpy_of(face.scores)).sum(1)
