"""The linear relaxation of a factor graph, with a quadratic term (LP-SparseMAP) or without one (LP-MAP)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from strukt.factor_graph.branch_and_bound import best_assignment
from strukt.factor_graph.compile import Arrays, Problem
from strukt.inference.lp_sparsemap.admm import MAX_ITERATIONS, solve, warn_unless_converged
from strukt.kernels.full_precision import full_precision
from strukt.kernels.undifferentiated import plain


@dataclass(frozen=True)
class Relaxation:
    """The solution of a linear relaxation: each factor's marginals are a mixture of its permitted assignments.

    Attributes:
        marginals: The marginals in the shape of the variables; differentiable after `lp_sparsemap`.
        status: ``batch``, Boolean: True where the result is optimal within the tolerance.
        gap: ``batch``, the duality gap: the bound minus the objective at the marginals.
        bound: ``batch``, an upper bound on the objective, even without convergence. After `lp_map` it is an upper
            bound on the scores of all assignments.
        iterations: ``batch``, the number of rounds; after an exact search, those of all its relaxations.
        primal_residual: ``batch``, the largest difference between a factor's copy of a variable and its marginal.
        dual_residual: ``batch``, the step size times the largest change of a marginal in the last round; inf if
            they were never updated. Both residuals are 0 after an exact search.
        state: The state of the solver, which is read if this result is the ``start`` of another call; None after
            an exact search.
    """

    marginals: Tensor | tuple[Tensor, ...]
    status: Tensor
    gap: Tensor
    bound: Tensor
    iterations: Tensor
    primal_residual: Tensor
    dual_residual: Tensor
    state: Any


@full_precision
def solve_relaxation(
    problem: Problem,
    arrays: Arrays,
    curvature: float,
    max_iterations: int | None,
    tol: float,
    start: Relaxation | None,
) -> Relaxation:
    """Solve LP-SparseMAP (curvature 1) or LP-MAP (curvature 0).

    Warn about items that have not converged only if ``max_iterations`` is None. The iterations run on the CPU:
    scores are moved there, and the result is moved back.

    Raises:
        ValueError: If ``max_iterations`` is below 1, ``tol`` is not positive, or ``start`` does not fit.
        InfeasibleError: If a factor with an oracle permits no assignment.
    """
    if start is not None and (not isinstance(start, Relaxation) or start.state is None):
        kind = "an exact result" if isinstance(start, Relaxation) else f"a {type(start).__name__}"
        raise ValueError(f"start is {kind}; expected a result of lp_sparsemap or lp_map for this graph")
    batch, device, problem = len(problem.scores), problem.scores.device, problem.on_cpu()
    result = solve(
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
        warn_unless_converged(result)
    shape = problem.batch_shape
    marginals = result.marginals.reshape(*shape, problem.layout.variables).to(device, problem.type)
    numbers = ("status", "gap", "bound", "iterations", "primal_residual", "dual_residual")
    return Relaxation(
        marginals=arrays.shaped(marginals),
        **{name: getattr(result, name).reshape(shape).to(device) for name in numbers},
        state=result.state,
    )


@full_precision
def solve_exactly(problem: Problem, arrays: Arrays, max_nodes: int, tol: float) -> Relaxation:
    """Return the best assignments by branch and bound; they have no gradient and no state for a warm start.

    Raises:
        InfeasibleError: If some item has no permitted assignment.
        ValueError: If the search ends at ``max_nodes`` without a permitted assignment.
    """
    problem = replace(problem, scores=plain(problem.scores), pair_scores=plain(problem.pair_scores))
    result = [best_assignment(problem.of_item(item), max_nodes, tol) for item in range(len(problem.scores))]
    if open_items := [best for best in result if not best.proven]:
        gap = max(best.bound - best.score for best in open_items)
        warnings.warn(
            f"the search for the best assignment stopped after {max_nodes} nodes in {len(open_items)} of "
            f"{len(result)} items, with a gap of {gap:.2g}; increase max_nodes",
            stacklevel=3,
        )
    shape, like = problem.batch_shape, problem.scores
    assignments = (
        torch.stack([best.assignment for best in result]) if result else like.new_zeros(0, like.shape[1])
    )

    def of_items(values: list[float], dtype: torch.dtype) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=like.device).reshape(shape)

    return Relaxation(
        marginals=arrays.shaped(assignments.reshape(*shape, like.shape[1]).to(problem.type)),
        status=of_items([best.proven for best in result], torch.bool),
        gap=of_items([best.bound - best.score for best in result], like.dtype),
        bound=of_items([best.bound for best in result], like.dtype),
        iterations=of_items([best.iterations for best in result], torch.int64),
        primal_residual=like.new_zeros(shape),
        dual_residual=like.new_zeros(shape),
        state=None,
    )
