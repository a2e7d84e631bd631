"""Exact MAP by branch and bound over the linear relaxation (Land and Doig 1960).

Each node of the search fixes some variables. Its relaxation bounds the scores of all its assignments from above,
even before convergence. Rounding the relaxed point may yield a permitted assignment, whose score is a lower bound
on the best one. The bound of a node without permitted assignments soon falls below the least score that a
permitted assignment can have; such nodes are dropped.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.errors import InfeasibleError
from strukt.factor_graph.compile import Problem
from strukt.inference.lp_sparsemap.admm import Solution, solve
from strukt.kernels.semiring import NEG_INF, finite
from strukt.kernels.undifferentiated import numpy_of, plain

Bits = npt.NDArray[np.int8]

OPEN = -1
"""Marks a variable that a node does not fix."""

SLACK = 1e-9
"""The search ends when no assignment can score higher by more than this, relative to the score."""

MARGIN = 1e-3
"""A node is dropped if its bound is below the least possible score by more than this, relative to that score.

A rounding error is smaller.
"""

NODE_ITERATIONS = 300
"""Maximum number of ADMM iterations for a node's relaxation; a node is split even if it has not converged."""


@dataclass(frozen=True)
class Best:
    """The result of the search for one item.

    Attributes:
        assignment: ``(V,)``, 0 and 1.
        score: The score of the assignment.
        bound: An upper bound on the scores of all assignments.
        nodes: The number of relaxations solved.
        iterations: The total number of ADMM iterations of all relaxations.
    """

    assignment: Tensor
    score: float
    bound: float
    nodes: int
    iterations: int

    @property
    def proven(self) -> bool:
        """True if no other assignment can be better, up to `SLACK`."""
        return self.bound <= self.score + _slack(self.score)


def best_assignment(problem: Problem, max_nodes: int, tol: float) -> Best:
    """Search for the best assignment of one item, exploring the node of the highest bound first.

    Args:
        problem: The graph with the scores of one item, without derivatives.
        max_nodes: Maximum number of relaxations.
        tol: The tolerance of the relaxations.

    Raises:
        InfeasibleError: If no assignment is permitted.
        ValueError: If the search ends at ``max_nodes`` without a permitted assignment, though one may exist.
    """
    order, nodes, iterations = itertools.count(), 0, 0
    best, bound = -np.inf, np.inf
    assignment: Tensor | None = None
    root = np.full(problem.layout.variables, OPEN, np.int8)
    root[numpy_of(problem.scores[0]) == NEG_INF] = 0
    queue = [(-np.inf, next(order), root)]
    least = _least_score(problem)
    while queue:
        bound = min(bound, -queue[0][0])
        if bound <= best + _slack(best) or nodes >= max_nodes:
            break
        negative_bound, _, fixed = heapq.heappop(queue)
        if (fixed != OPEN).all():
            rounded = torch.from_numpy(fixed.astype(np.int64)).to(problem.scores.device)
            best, assignment = max(
                (best, assignment), (total_score(problem, rounded), rounded), key=_score_of
            )
            continue
        result = _relax(problem, fixed, tol)
        nodes += 1
        if result is None:
            continue
        iterations += int(result.iterations)
        upper = min(-negative_bound, float(plain(result.bound)) + _fixed_score(problem, fixed))
        if upper < least - MARGIN * (1.0 + abs(least)):
            continue
        marginals = _unflipped(plain(result.marginals)[0], fixed)
        rounded = (marginals > 0.5).long()
        score = total_score(problem, rounded)
        best, assignment = max((best, assignment), (score, rounded), key=_score_of)
        if upper > best + _slack(best):
            for child in _children(fixed, marginals):
                heapq.heappush(queue, (-upper, next(order), child))
    if best == -np.inf or assignment is None:
        if queue:
            raise ValueError(
                f"max_nodes is {max_nodes}, and no permitted assignment was found within it; increase max_nodes"
            )
        raise InfeasibleError("no assignment is permitted by all factors")
    return Best(assignment, best, max(best, bound if queue else best), nodes, iterations)


def total_score(problem: Problem, assignment: Tensor) -> float:
    """Return the score of an assignment ``(V,)`` in a graph of one item; -inf if it is not permitted."""
    scores = problem.scores[0]
    total = torch.where(assignment > 0, scores, 0.0).sum()
    for factor in problem.factors:
        index, negated = factor.variables.index, factor.variables.negated
        values = assignment[torch.from_numpy(index)] ^ torch.from_numpy(negated).to(assignment)
        total = total + plain(factor.log_potential(values.to(scores).reshape(1, 1, -1)).sum())
    return float(total)


def _least_score(problem: Problem) -> float:
    """Return a lower bound on the scores of all permitted assignments; -inf if an oracle has none."""
    scores = sum(float(finite(each).clamp(max=0.0).sum()) for each in (problem.scores, problem.pair_scores))
    return scores + sum(oracle.least() for oracle in problem.oracles)


def _score_of(candidate: tuple[float, Tensor | None]) -> float:
    return candidate[0]


def _slack(score: float) -> float:
    return SLACK * (1.0 + abs(score)) if score > -np.inf else 0.0


def _relax(problem: Problem, fixed: Bits, tol: float) -> Solution | None:
    """Solve the relaxation of a node; return None if a factor permits no assignment.

    Variables fixed to 1 are negated, so that all fixed variables have value 0, which a score of -inf enforces.
    """
    flipped = fixed == 1
    layout = replace(problem.layout, negated=problem.layout.negated ^ flipped[problem.layout.copies])
    scores = problem.scores.masked_fill(torch.from_numpy(fixed != OPEN).to(problem.scores.device), NEG_INF)
    try:
        return solve(
            layout, scores, problem.pair_scores, problem.oracles,
            curvature=0.0, max_iterations=NODE_ITERATIONS, tol=tol,
        )  # fmt: skip
    except InfeasibleError:
        return None


def _fixed_score(problem: Problem, fixed: Bits) -> float:
    """Return the sum of the scores of the variables fixed to 1."""
    return float(problem.scores[0][torch.from_numpy(fixed == 1)].sum())


def _unflipped(marginals: Tensor, fixed: Bits) -> Tensor:
    """Return the marginals of the variables themselves, of which `_relax` negated those fixed to 1."""
    return torch.where(torch.from_numpy(fixed == 1).to(marginals.device), 1.0 - marginals, marginals)


def _children(fixed: Bits, marginals: Tensor) -> list[Bits]:
    """Return the two children of a node: the open variable with the marginal nearest to 1/2 is 0, and is 1."""
    doubt = np.where(fixed == OPEN, 0.5 - np.abs(numpy_of(marginals) - 0.5), -1.0)
    halves = [fixed.copy(), fixed.copy()]
    for value, half in enumerate(halves):
        half[int(doubt.argmax())] = value
    return halves
