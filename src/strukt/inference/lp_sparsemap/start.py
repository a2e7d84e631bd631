"""The start of the ADMM iterations of LP-SparseMAP: the graph for the kernels, and a new or a resumed state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.inference.lp_sparsemap.graph import ORACLE, Face, Layout, OracleFactor
from strukt.kernels.arrays import Floats
from strukt.kernels.lp_sparsemap.state import Graph, State, empty_state

Mask = npt.NDArray[np.bool_]

CERTAIN = 1e-3
"""The tolerance of the residuals as a fraction of ``tol``: the error of the marginals can exceed the residuals."""

ROUNDING = 4e-15
"""The expected rounding error for scores of size 1."""

PROXIMAL = 0.04
"""The first weight of the proximal term of LP-MAP, in units of the step."""


@dataclass(frozen=True)
class Position:
    """The state of a solution, for a warm start: graph, marginals, multipliers, steps, faces of the oracles."""

    layout: Layout
    marginals: Floats
    multipliers: Floats
    step: Floats
    faces: tuple[Face | None, ...]


def require_start(start: Position, layout: Layout, batch: int) -> None:
    """Raise ValueError unless an earlier solution is one of the same graph and batch."""
    if not start.layout.equals(layout):
        raise ValueError("start is a result for another graph; expected one for the same variables and factors")
    if len(start.marginals) != batch:
        raise ValueError(f"start has a batch of {len(start.marginals)} items; expected {batch}")


def permitted_face(oracle: OracleFactor, face: Face | None) -> Face | None:
    """Return an earlier face of a factor, or None if the factor no longer permits all of its assignments."""
    if face is None or not bool(oracle.permits(face.vertices.transpose(0, 1)).all()):
        return None
    return face


def graph_of(layout: Layout, curvature: float) -> Graph:
    """Return a layout as the graph that the kernels read."""

    def contiguous(dtype: type, *names: str) -> dict[str, Any]:
        return {name: np.ascontiguousarray(getattr(layout, name), dtype) for name in names}

    return Graph(
        **contiguous(np.int64, "copies", "starts", "kinds", "pair"),
        **contiguous(np.float64, "costs", "low", "high"),
        signs=np.where(layout.negated, -1.0, 1.0),
        degrees=np.bincount(layout.copies, minlength=layout.variables).astype(np.float64),
        curvature=float(curvature),
        widest=int(np.diff(layout.starts).max(initial=0)),
    )


def first_state(
    graph: Graph, scores: Floats, pair_scores: Floats, tol: float, start: Position | None
) -> State:
    """Return the state before the first iteration, cold or warm (``start``).

    The rest of a variable's score, after its marginal and multipliers are subtracted, is split equally over the
    multipliers of its copies.
    """
    possible = scores > -np.inf
    eta = np.where(possible, scores, 0.0)
    lonely = graph.degrees == 0
    alone = np.clip(eta, 0.0, 1.0) if graph.curvature > 0.0 else (eta > 0.0).astype(np.float64)
    inside = (eta > 0.0) & (eta < 1.0) & (graph.curvature > 0.0)
    free = (possible & (inside | ~lonely)).astype(np.float64)
    paired = np.where(pair_scores > -np.inf, np.abs(pair_scores), 0.0)
    size = np.maximum(np.abs(eta).max(1, initial=0.0), paired.max(1, initial=0.0))
    state = empty_state(graph, eta, free, pair_scores, np.maximum(CERTAIN * tol, ROUNDING * (1.0 + size)))
    if graph.curvature == 0.0:
        state.scale[:] = np.where(size > 0.0, size / 40.0, 1.0)
    else:
        state.scale[:] = np.maximum(1.0, size / 4.0)
    if start is None:
        state.marginals[:] = np.where(possible, 0.5, 0.0)
        _set_first_step_size(graph, state)
    else:
        _resume(graph, state, possible, start)
    state.marginals[:, lonely] = np.where(possible, alone, 0.0)[:, lonely]
    shared = eta + state.curvature[:, None] * (state.center - state.marginals)
    for item in range(len(eta)):
        total = np.bincount(graph.copies, state.multipliers[item], len(graph.degrees))
        rest = (shared[item] - total) / np.maximum(graph.degrees, 1.0) * possible[item]
        state.multipliers[item] += rest[graph.copies]
    return state


def _set_first_step_size(graph: Graph, state: State) -> None:
    """Set the step size to the scale of the scores, and the iteration at which polishing starts.

    If factors share no variable, polishing starts at once, as the first points are the solution.
    """
    overlap = (graph.degrees > 1).any()
    if graph.curvature == 0.0:
        state.step[:] = state.scale
        state.curvature[:] = PROXIMAL * state.step
        state.center[:] = state.marginals
    elif overlap:
        state.step[:] = state.scale
    state.polish_at[:] = (3 if (graph.kinds == ORACLE).any() else 10) if overlap else 0


def _resume(graph: Graph, state: State, possible: Mask, start: Position) -> None:
    """Resume from an earlier solution, with marginal 0 for variables that are now forbidden."""
    state.marginals[:] = np.where(possible, start.marginals, 0.0)
    state.multipliers[:] = start.multipliers
    state.step[:] = start.step
    if graph.curvature == 0.0:
        state.curvature[:], state.center[:] = PROXIMAL * state.step, state.marginals
