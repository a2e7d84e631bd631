"""LP-SparseMAP and LP-MAP by ADMM: marginals on which all factors of a graph agree.

    argmax over mu  <scores, mu> - curvature / 2 ||mu||^2 + sum_f E[local score of f]
    such that the variables of each factor lie in its polytope

(Niculae and Martins 2020, equation 8, with curvature 1; the linear relaxation of MAP with curvature 0.) The
alternating direction method of multipliers (ADMM) runs until the faces of the factors' solutions no longer change.
Conjugate gradients then compute the exact optimum on these faces, and the next solutions of the factors verify it.
LP-MAP is solved by the proximal point method: a few such problems of small curvature, each centred at the solution
of the previous one.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.errors import OutOfRangeError
from strukt.inference.lp_sparsemap.faces import all_faces, differentiable
from strukt.inference.lp_sparsemap.graph import ORACLE, Face, Layout, OracleFactor, require_oracles
from strukt.inference.lp_sparsemap.oracles import oracle_gain, run_with_oracles
from strukt.inference.lp_sparsemap.penalties import clipped, is_unaffected_by_clipping, limits_of
from strukt.inference.lp_sparsemap.start import Position, first_state, graph_of, permitted_face, require_start
from strukt.inference.settings import require_iterations, require_positive_tolerance
from strukt.kernels.arrays import Floats
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.lp_sparsemap.run import gaps, last_points, run
from strukt.kernels.lp_sparsemap.state import DONE, Faces, Graph, State
from strukt.kernels.undifferentiated import may_differentiate, numpy_of, undifferentiated

MAX_ITERATIONS = 10_000
"""The default maximum number of iterations; each one solves every factor once."""

CONSISTENT = 1e-7
"""The largest duality gap, relative to the bound, that can be a rounding error."""

LARGEST = 1e100
"""The largest score allowed: the squares of larger ones overflow."""

NOTHING = 1e-14
"""The distance from 0 or 1 within which a marginal is set to 0 or 1."""


@dataclass(frozen=True)
class Solution:
    """The result of `solve`, with the batch as the first axis.

    Attributes:
        marginals: ``(batch, V)``, the probability that each variable is 1; differentiable if the curvature is 1.
        status: ``(batch,)``, True where the error is within the tolerance.
        gap: ``(batch,)``, the duality gap: the score of the best assignment minus the expected score under the
            marginals, summed over all factors.
        bound: ``(batch,)``, an upper bound on the objective, even without convergence.
        iterations: ``(batch,)``, the number of iterations.
        primal_residual: ``(batch,)``, the largest difference between a factor's copy of a variable and the
            marginal.
        dual_residual: ``(batch,)``, the step size times the largest change of a marginal in the last iteration.
        state: A warm start for another call with the same layout and batch.
    """

    marginals: Tensor
    status: Tensor
    gap: Tensor
    bound: Tensor
    iterations: Tensor
    primal_residual: Tensor
    dual_residual: Tensor
    state: Position


def solve(
    layout: Layout, scores: Tensor, pair_scores: Tensor, oracles: Sequence[OracleFactor], *,
    curvature: float = 1.0, max_iterations: int = MAX_ITERATIONS, tol: float = 1e-9,
    start: Position | None = None,
) -> Solution:  # fmt: skip
    """Solve LP-SparseMAP or LP-MAP for a batch of graphs of one layout.

    Args:
        layout: The V variables and the factors that all graphs share.
        scores: ``(batch, V)``; -inf for a variable that must be 0. Any floating type; computed in float64.
        pair_scores: ``(batch, q)``, the scores of q pairs, added if both variables of a pair are 1; -inf forbids
            that. The column of a pair is ``layout.pair``.
        oracles: One oracle for each factor of kind ORACLE, in the order of the factors.
        curvature: 1.0 for LP-SparseMAP, 0.0 for LP-MAP. The marginals of LP-MAP have no gradient.
        max_iterations: Maximum number of iterations.
        tol: The error allowed in the marginals, above 0.
        start: The ``state`` of an earlier solution of the same layout and batch, as a warm start; None for none.

    Returns:
        The solution; ``status`` is True for items that have converged. Infeasible graphs never converge.

    Raises:
        ValueError: If a shape, type or option does not fit.
        OutOfRangeError: If a score is NaN, +inf, or 1e100 or more in absolute value but not -inf.
        InfeasibleError: If a factor of kind ORACLE permits no assignment.

    Examples:
        >>> import numpy as np
        >>> from strukt.inference.lp_sparsemap.graph import BAND
        >>> both = Layout(3, np.array([0, 1, 1, 2]), np.zeros(4, bool), np.array([0, 2, 4]),
        ...               np.array([BAND, BAND]), np.ones(4), np.ones(2), np.ones(2), np.array([-1, -1]))
        >>> solve(both, torch.tensor([[0.0, 0.2, 0.0]]), torch.zeros(1, 0), []).marginals
        tensor([[0.2667, 0.7333, 0.2667]])
    """
    _check(layout, scores, pair_scores, oracles, curvature, max_iterations, tol)
    if start is not None:
        require_start(start, layout, len(scores))
    job = _Job(graph_of(layout, curvature), tuple(oracles), max_iterations, float(tol), start)
    job.wants_faces = curvature > 0.0 and may_differentiate()
    result = undifferentiated(job, scores, pair_scores)
    marginals, status, gap, bound, iterations, primal, dual = result
    graph, state, faces = job.graph, job.state, job.faces
    if job.along is not None:
        marginals = differentiable(
            graph, state.free, job.along, scores, pair_scores, oracles, faces, marginals
        )
    position = Position(layout, state.marginals, state.multipliers, state.step, tuple(faces))
    return Solution(marginals.to(scores.dtype), status, gap, bound, iterations, primal, dual, position)


def _check(
    layout: Layout, scores: Tensor, pair_scores: Tensor, oracles: Sequence[OracleFactor], curvature: float,
    max_iterations: int, tol: float,
) -> None:  # fmt: skip
    """Raise ValueError if a shape, type or option does not fit."""
    require_iterations(max_iterations, "max_iterations")
    require_oracles(layout, oracles)
    if curvature not in (0.0, 1.0):
        raise ValueError(f"curvature is {curvature}; expected 1.0 or 0.0")
    require_positive_tolerance(tol)
    pairs = int(layout.pair.max(initial=-1)) + 1
    for name, value, width in (("scores", scores, layout.variables), ("pair_scores", pair_scores, pairs)):
        if value.dim() != 2 or value.shape[1] < width or (name == "scores" and value.shape[1] != width):
            raise ValueError(f"{name} has shape {tuple(value.shape)}; expected (batch, {width})")
        if not value.is_floating_point():
            raise ValueError(f"{name} has type {value.dtype}; expected floating-point")
    if len(pair_scores) != len(scores):
        raise ValueError(f"pair_scores has a batch of {len(pair_scores)}; scores has one of {len(scores)}")


def _settled(graph: Graph, state: State) -> Floats:
    """Return the marginals; in converged items, exactly 0 or 1 where a factor's copy of the variable is."""
    result = np.clip(state.marginals, 0.0, 1.0)
    bound = (state.points == 0.0) | (state.points == 1.0)
    exact = bound & (np.abs(state.points - result[:, graph.copies]) < 1e-6)
    items, copies = np.nonzero(exact & (state.mode == DONE)[:, None])
    result[items, graph.copies[copies]] = state.points[items, copies]
    shared = graph.degrees > 0
    result[:, shared] = np.where(result < NOTHING, 0.0, np.where(result > 1.0 - NOTHING, 1.0, result))[:, shared]
    return result + 0.0  # no zero is negative


class _Job:
    """A problem for one batch. A call solves it, and leaves the state and the faces in attributes."""

    def __init__(
        self, graph: Graph, oracles: tuple[OracleFactor, ...], most: int, tol: float, start: Position | None
    ) -> None:
        self.graph, self._oracles, self._most, self._tol, self._start = graph, oracles, most, tol, start
        earlier: Sequence[Face | None] = [None] * len(oracles) if start is None else start.faces
        self.faces = [permitted_face(oracle, face) for oracle, face in zip(oracles, earlier, strict=True)]
        self.wants_faces = False
        self.state: State
        self.along: Faces | None = None

    def __call__(self, scores: Tensor, pair_scores: Tensor) -> tuple[Tensor, ...]:
        """Return marginals, status, gap, bound, iterations, primal and dual residuals."""
        for name, value in (("scores", scores), ("pair_scores", pair_scores)):
            if not ((value < LARGEST) & ((value > -LARGEST) | (value == -torch.inf))).all():
                raise OutOfRangeError(
                    f"{name} has NaN, +inf or numbers beyond {LARGEST:g}; expected finite numbers or -inf"
                )
        singles, pairs = numpy_of(scores), numpy_of(pair_scores)
        limits = limits_of(singles, pairs)
        self._run(clipped(singles, limits), clipped(pairs, limits), scores.device)
        if np.isfinite(limits).any():
            clear = is_unaffected_by_clipping(self.graph, _settled(self.graph, self.state), singles, pairs, limits)
            if not clear.all():
                limits[~clear] = np.inf
                self._run(clipped(singles, limits), clipped(pairs, limits), scores.device)
        graph, state = self.graph, self.state
        over_batch(last_points, 1, graph, state)
        gap, best = np.zeros((2, len(scores)))
        over_batch(gaps, 1, graph, state, gap, best)
        for k, f in enumerate(np.flatnonzero(graph.kinds == ORACLE)):
            face = self.faces[k]
            if face is not None and len(gap):
                gain, current = oracle_gain(graph, state, self._oracles[k], face, int(f), scores.device)
                gap += np.abs(gain - current)
                best += gain
        if self.wants_faces:  # while the tensors are still plain ones, without derivatives
            self.along = all_faces(graph, state, self.faces)
        bound = best + _remaining_gain(graph, state, singles)
        agreed = (state.mode == DONE) & (gap <= CONSISTENT * (1.0 + np.abs(bound)))
        values: tuple[npt.NDArray[Any], ...] = (
            _settled(graph, state), agreed, gap, bound,
            state.iterations, state.primal, state.dual,
        )  # fmt: skip
        return tuple(torch.from_numpy(value.copy()).to(scores.device) for value in values)

    def _run(self, scores: Floats, pair_scores: Floats, device: torch.device) -> None:
        """Iterate from the start until all items have converged, or for the maximum number of iterations."""
        self.state = state = first_state(self.graph, scores, pair_scores, self._tol, self._start)
        if self._oracles:
            run_with_oracles(self.graph, state, self._oracles, self.faces, self._most, device)
        else:
            over_batch(run, thread_count(len(scores), 100 * state.points.size), self.graph, state, self._most)


def _remaining_gain(graph: Graph, state: State, scores: Floats) -> Floats:
    """Return the maximum ``(batch,)`` over marginals in [0, 1] of the objective with scores minus multipliers.

    The sum of this maximum and the largest gains of the factors bounds the objective for any multipliers (weak
    duality).
    """
    result = np.zeros(len(scores))
    for item, row in enumerate(scores):
        rest = np.where(row > -np.inf, row, 0.0)
        rest -= np.bincount(graph.copies, state.multipliers[item], len(graph.degrees))
        rest[row == -np.inf] = 0.0
        point = (
            (rest > 0.0) if graph.curvature == 0.0 else np.clip(rest / max(graph.curvature, 1e-300), 0.0, 1.0)
        )
        result[item] = rest @ point - 0.5 * graph.curvature * point @ point
        result[item] += state.multipliers[item][graph.signs < 0.0].sum()
    return result


def warn_unless_converged(solution: Solution) -> None:
    """Warn about the items that did not converge, with their gap and residual."""
    failed = ~solution.status
    if failed.any():
        warnings.warn(
            f"the factors of {int(failed.sum())} of {len(failed)} graphs still disagree after "
            f"{int(solution.iterations.max())} iterations: the gap is {solution.gap[failed].max().item():.2g}, "
            f"copies differ from their variables by up to {solution.primal_residual[failed].max().item():.2g}; "
            "if the constraints contradict each other, lp_map(exact=True) raises InfeasibleError",
            stacklevel=4,
        )
