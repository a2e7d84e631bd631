"""The best assignment of a factor graph: the linear relaxation, split where it is not whole (Land and Doig 1960).

A node fixes some variables. Its relaxation bounds the scores of all assignments in it, whether or not it has
converged; rounded, its point may be an assignment that is permitted, whose score bounds the best one from below.
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
from strukt.inference.lp_sparsemap import Solution, solve
from strukt.kernels.semiring import NEG_INF
from strukt.kernels.undifferentiated import numpy_of, plain

Bits = npt.NDArray[np.int8]

OPEN = -1
"""Stands for a variable that a node does not fix."""

SLACK = 1e-9
"""The share of the best score that another assignment must gain to be looked for."""

NODE_ITERATIONS = 300
"""Iterations in a node: what has not converged by then is split, too."""


@dataclass(frozen=True)
class Best:
    """What the search in one item found.

    Attributes:
        assignment: ``(V,)``, 0 and 1.
        score: Of the assignment.
        bound: No assignment has a larger score.
        nodes: The number of relaxations that were solved.
        iterations: In all of them.
    """

    assignment: Tensor
    score: float
    bound: float
    nodes: int
    iterations: int

    @property
    def proven(self) -> bool:
        """Whether no assignment is better."""
        return self.bound <= self.score + _slack(self.score)


def best_assignment(problem: Problem, most_nodes: int, tol: float) -> Best:
    """Search the assignments of one item, the most promising node first.

    Args:
        problem: Of one item; derivatives in its scores are not carried on.
        most_nodes: Bound on the relaxations.
        tol: Of these.

    Raises:
        InfeasibleError: If no assignment is permitted.
        ValueError: If none was found in so many nodes, though there may be one.
    """
    order, nodes, iterations = itertools.count(), 0, 0
    best, bound = -np.inf, np.inf
    assignment: Tensor | None = None
    root = np.full(problem.layout.variables, OPEN, np.int8)
    root[numpy_of(problem.scores[0]) == NEG_INF] = 0
    waiting = [(-np.inf, next(order), root)]
    while waiting:
        bound = min(bound, -waiting[0][0])
        if bound <= best + _slack(best) or nodes == most_nodes:
            break
        above, _, fixed = heapq.heappop(waiting)
        if (fixed != OPEN).all():
            rounded = torch.from_numpy(fixed.astype(np.int64)).to(problem.scores.device)
            best, assignment = max((best, assignment), (total_score(problem, rounded), rounded), key=_first)
            continue
        found = _relax(problem, fixed, tol)
        nodes += 1
        if found is None:
            continue
        iterations += int(found.iterations)
        most = min(-above, float(plain(found.bound)) + _earned(problem, fixed))
        marginals = _unflipped(plain(found.marginals)[0], fixed)
        rounded = (marginals > 0.5).long()
        score = total_score(problem, rounded)
        best, assignment = max((best, assignment), (score, rounded), key=_first)
        if most > best + _slack(best):
            for child in _children(fixed, marginals):
                heapq.heappush(waiting, (-most, next(order), child))
    if best == -np.inf or assignment is None:
        if waiting:
            raise ValueError(
                f"max_nodes is {most_nodes}, but no assignment was found by then; give a larger one"
            )
        raise InfeasibleError("no assignment is permitted by all factors")
    return Best(assignment, best, max(best, bound if waiting else best), nodes, iterations)


def total_score(problem: Problem, assignment: Tensor) -> float:
    """The score ``(V,)`` of an assignment in a graph of one item; -inf if it is not permitted."""
    scores = problem.scores[0]
    total = torch.where(assignment > 0, scores, 0.0).sum()
    for factor in problem.factors:
        index, negated = factor.variables.index, factor.variables.negated
        seen = assignment[torch.from_numpy(index)] ^ torch.from_numpy(negated).to(assignment)
        total = total + plain(factor.log_potential(seen.to(scores).reshape(1, 1, -1)).sum())
    return float(total)


def _first(found: tuple[float, Tensor | None]) -> float:
    return found[0]


def _slack(score: float) -> float:
    return SLACK * (1.0 + abs(score)) if score > -np.inf else 0.0


def _relax(problem: Problem, fixed: Bits, tol: float) -> Solution | None:
    """The relaxation with variables fixed to 1 replaced by their negation; None if a factor permits nothing.

    What is 0 then, as what is fixed to 0, has the score -inf.
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


def _earned(problem: Problem, fixed: Bits) -> float:
    """The scores of the variables that are fixed to 1."""
    return float(problem.scores[0][torch.from_numpy(fixed == 1)].sum())


def _unflipped(marginals: Tensor, fixed: Bits) -> Tensor:
    return torch.where(torch.from_numpy(fixed == 1).to(marginals.device), 1.0 - marginals, marginals)


def _children(fixed: Bits, marginals: Tensor) -> list[Bits]:
    """The two halves of a node by the open variable that is least decided."""
    doubt = np.where(fixed == OPEN, 0.5 - np.abs(numpy_of(marginals) - 0.5), -1.0)
    halves = [fixed.copy(), fixed.copy()]
    for value, half in enumerate(halves):
        half[int(doubt.argmax())] = value
    return halves
