"""Brute-force enumeration of a small graph: the ground truth for all other operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strukt.checks import guards
from strukt.factor_graph.compile import Arrays, Problem
from strukt.factor_graph.factor import AnyFactor
from strukt.kernels.full_precision import full_precision
from strukt.kernels.semiring import NEG_INF, finite, log_softmax, logsumexp

MOST_VARIABLES = 20
"""Maximum number of variables: 2^20 assignments."""


@dataclass(frozen=True)
class Enumeration:
    """All assignments of a graph's variables that its factors permit, with their scores.

    Attributes:
        assignments: ``(k, V)``, integers 0 and 1: each assignment of the V variables that the factors permit in at
            least one item of the batch.
        scores: ``batch + (k,)``, the total score of each assignment; -inf where factors or scores of variables
            forbid it in an item. Differentiable.
        arrays: The shapes of the arrays of variables.
    """

    assignments: Tensor
    scores: Tensor
    arrays: Arrays

    @property
    def log_partition(self) -> Tensor:
        """The log-partition, ``batch``; -inf if all assignments are forbidden; differentiable."""
        return logsumexp(self._padded_scores, -1)

    @property
    def probabilities(self) -> Tensor:
        """The probabilities of the assignments, ``batch + (k,)``; 0 if all are forbidden; differentiable."""
        return log_softmax(self._padded_scores, -1).exp()[..., : len(self.assignments)]

    @property
    @full_precision
    def marginals(self) -> Tensor | tuple[Tensor, ...]:
        """The probability that each variable is 1, ``batch +`` the shape of the variables; differentiable.

        A tuple of these if there are several arrays; 0 if all assignments are forbidden.
        """
        return self.arrays.shaped(self.probabilities @ self.assignments.to(self.scores))

    @property
    def entropy(self) -> Tensor:
        """The entropy in nats, ``batch``; 0 if all assignments are forbidden; differentiable."""
        log_probability = log_softmax(self._padded_scores, -1)
        return -(log_probability.exp() * finite(log_probability)).sum(-1)

    @property
    def mode(self) -> Tensor | tuple[Tensor, ...]:
        """The best assignment, ``batch +`` the shape of the variables; a tuple if there are several arrays.

        Raises:
            InfeasibleError: If every assignment of some item is forbidden.
        """
        best = self._padded_scores.argmax(-1)
        guards.require_feasible(best.reshape(-1), self.max_score.reshape(-1))
        return self.arrays.shaped(self.assignments[best])

    @property
    def max_score(self) -> Tensor:
        """The score of the best assignment, ``batch``; -inf if all are forbidden; differentiable."""
        return self._padded_scores.amax(-1)

    @property
    def _padded_scores(self) -> Tensor:
        """The scores, or a single -inf for each item if no assignment is permitted."""
        nothing = self.scores.new_full((*self.scores.shape[:-1], 0 if len(self.assignments) else 1), NEG_INF)
        return torch.cat([self.scores, nothing], -1)


@full_precision
def enumerate_assignments(problem: Problem, arrays: Arrays) -> Enumeration:
    """Score all assignments, in O(2^V (V + F)) time for V variables and F factors.

    Raises:
        ValueError: If there are more than 20 variables.
    """
    count = problem.layout.variables
    if count > MOST_VARIABLES:
        raise ValueError(
            f"the graph has {count} variables, and 2 to the power of {count} assignments are too many to "
            f"enumerate; expected at most {MOST_VARIABLES} variables"
        )
    device = problem.scores.device
    values = torch.arange(1 << count, device=device)
    assignments = (values.unsqueeze(-1) >> torch.arange(count - 1, -1, -1, device=device)) & 1
    scores = problem.scores.new_zeros(len(assignments), 1)
    for factor in problem.factors:
        potential = _potential(factor, assignments, problem.scores)
        scores = scores + potential
        permitted = (scores > NEG_INF).any(-1)
        assignments, scores = assignments[permitted], scores[permitted]
    forbidden = problem.scores == NEG_INF
    ones = assignments.to(problem.scores)
    variables = ones @ finite(problem.scores).T
    variables = torch.where(ones @ forbidden.to(ones).T > 0, NEG_INF, variables)
    total = (scores + variables).T.reshape(*problem.batch_shape, len(assignments))
    return Enumeration(assignments, total, arrays)


def _potential(factor: AnyFactor, assignments: Tensor, scores: Tensor) -> Tensor:
    """Return the log-potentials ``(k, batch)`` of a factor for assignments ``(k, V)`` of the whole graph.

    It is computed once for each distinct assignment of the factor's own variables.
    """
    device = assignments.device
    distinct, places = np.unique(factor.variables.index, return_inverse=True)
    values = assignments[:, torch.from_numpy(distinct).to(device)]
    codes, of_code = torch.unique(
        values @ (1 << torch.arange(len(distinct), device=device)), return_inverse=True
    )
    patterns = (codes.unsqueeze(-1) >> torch.from_numpy(places).to(device)) & 1
    patterns = patterns ^ torch.from_numpy(factor.variables.negated).to(patterns)
    batch = max(1, len(scores))
    potentials = factor.log_potential(patterns.unsqueeze(1).expand(-1, batch, -1).to(scores))
    return potentials[of_code]
