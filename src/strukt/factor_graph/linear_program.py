"""The linear relaxation of a factor graph, with and without the square: LP-SparseMAP and LP-MAP."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from strukt.factor_graph.branch_and_bound import best_assignment
from strukt.factor_graph.compile import Arrays, Problem
from strukt.inference.lp_sparsemap import MAX_ITERATIONS, solve, warn_unless_converged
from strukt.kernels.undifferentiated import plain


@dataclass(frozen=True)
class Relaxation:
    """A point at which each factor sees a mean of assignments that it permits.

    Attributes:
        marginals: In the shape of the variables. Those of `lp_sparsemap` are differentiable.
        status: ``batch``, Boolean: whether the factors came to agree.
        gap: ``batch``, between the value of the point and its bound.
        bound: ``batch``: no point has a larger value, converged or not. That of `lp_map` bounds all scores.
        iterations: ``batch``, the rounds.
        primal_residual: ``batch``, by how much factors disagree.
        dual_residual: ``batch``, by how much the last round moved the point.
        state: For ``start=`` of the next call.
    """

    marginals: Tensor | tuple[Tensor, ...]
    status: Tensor
    gap: Tensor
    bound: Tensor
    iterations: Tensor
    primal_residual: Tensor
    dual_residual: Tensor
    state: Any


def solve_relaxation(
    problem: Problem,
    arrays: Arrays,
    curvature: float,
    max_iterations: int | None,
    tol: float,
    start: Relaxation | None,
) -> Relaxation:
    """Solve with a curvature of 1 (LP-SparseMAP) or 0 (LP-MAP); warn if that takes too long, unless bounded.

    Raises:
        ValueError: If there are no iterations, or the tolerance is below 0.
    """
    if start is not None and (not isinstance(start, Relaxation) or start.state is None):
        given = "an exact result" if isinstance(start, Relaxation) else f"a {type(start).__name__}"
        raise ValueError(f"start is {given}; expected what lp_sparsemap or lp_map gave for this graph")
    batch = len(problem.scores)
    found = solve(
        problem.layout,
        problem.scores,
        problem.pair_scores.expand(batch, -1),
        problem.oracles,
        curvature=curvature,
        max_iterations=MAX_ITERATIONS if max_iterations is None else max_iterations,
        tol=tol,
        start=None if start is None else start.state,
    )
    if max_iterations is None:
        warn_unless_converged(found)
    shape = problem.batch_shape
    return Relaxation(
        marginals=arrays.shaped(found.marginals.reshape(*shape, problem.layout.variables).to(problem.type)),
        status=found.status.reshape(shape),
        gap=found.gap.reshape(shape),
        bound=found.bound.reshape(shape),
        iterations=found.iterations.reshape(shape),
        primal_residual=found.primal_residual.reshape(shape),
        dual_residual=found.dual_residual.reshape(shape),
        state=found.state,
    )


def solve_exactly(problem: Problem, arrays: Arrays, most_nodes: int, tol: float) -> Relaxation:
    """The best assignments, by `branch_and_bound`; the state is None. Nothing has a derivative.

    Raises:
        InfeasibleError: If no assignment of some item is permitted.
    """
    problem = replace(problem, scores=plain(problem.scores), pair_scores=plain(problem.pair_scores))
    found = [best_assignment(problem.of_item(item), most_nodes, tol) for item in range(len(problem.scores))]
    if open_items := [best for best in found if not best.proven]:
        gap = max(best.bound - best.score for best in open_items)
        warnings.warn(
            f"the search for the best assignment stopped after {most_nodes} nodes in {len(open_items)} of "
            f"{len(found)} items, with a gap of {gap:.2g}; give a larger max_nodes",
            stacklevel=3,
        )
    shape, like = problem.batch_shape, problem.scores
    assignments = (
        torch.stack([best.assignment for best in found]) if found else like.new_zeros(0, like.shape[1])
    )

    def of_items(values: list[float], dtype: torch.dtype) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=like.device).reshape(shape)

    return Relaxation(
        marginals=arrays.shaped(assignments.reshape(*shape, like.shape[1]).to(problem.type)),
        status=of_items([best.proven for best in found], torch.bool),
        gap=of_items([best.bound - best.score for best in found], like.dtype),
        bound=of_items([best.bound for best in found], like.dtype),
        iterations=of_items([best.iterations for best in found], torch.int64),
        primal_residual=like.new_zeros(shape),
        dual_residual=like.new_zeros(shape),
        state=None,
    )
