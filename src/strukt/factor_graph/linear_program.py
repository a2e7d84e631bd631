"""The linear relaxation of a factor graph, with and without the square: LP-SparseMAP and LP-MAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from strukt.factor_graph.compile import Arrays, Problem
from strukt.inference.lp_sparsemap import solve


@dataclass(frozen=True)
class Relaxation:
    """A point at which each factor sees a mean of assignments that it permits.

    Attributes:
        marginals: In the shape of the variables. Those of `lp_sparsemap` are differentiable.
        status: ``batch``, Boolean: whether the factors came to agree.
        gap: ``batch``, between the value of the point and its bound.
        iterations: ``batch``, the rounds.
        primal_residual: ``batch``, by how much factors disagree.
        dual_residual: ``batch``, by how much the last round moved the point.
        state: For ``start=`` of the next call.
    """

    marginals: Tensor | tuple[Tensor, ...]
    status: Tensor
    gap: Tensor
    iterations: Tensor
    primal_residual: Tensor
    dual_residual: Tensor
    state: Any


def solve_relaxation(
    problem: Problem,
    arrays: Arrays,
    curvature: float,
    max_iterations: int,
    tol: float,
    start: Relaxation | None,
) -> Relaxation:
    """Solve with a curvature of 1 (LP-SparseMAP) or 0 (LP-MAP).

    Raises:
        ValueError: If there are no iterations, or the tolerance is below 0.
    """
    batch = len(problem.scores)
    found = solve(
        problem.layout,
        problem.scores,
        problem.pair_scores.expand(batch, -1),
        problem.oracles,
        curvature=curvature,
        max_iterations=max_iterations,
        tol=tol,
        start=None if start is None else start.state,
    )
    shape = problem.batch_shape
    return Relaxation(
        marginals=arrays.shaped(found.marginals.reshape(*shape, problem.layout.variables).to(problem.type)),
        status=found.status.reshape(shape),
        gap=found.gap.reshape(shape),
        iterations=found.iterations.reshape(shape),
        primal_residual=found.primal_residual.reshape(shape),
        dual_residual=found.dual_residual.reshape(shape),
        state=found.state,
    )
