"""Loopy belief propagation (BP, sum-product) on a factor graph, with messages as pairs of log-weights.

A message holds the log-weights of the values 0 and 1 of a variable. It is shifted so that the larger log-weight is
0: nothing overflows, and a log-weight of -inf rules out a value. Fixed points are stationary points of the Bethe
free energy (Yedidia, Freeman and Weiss 2005, section V); on a graph without cycles the fixed point is unique and
exact.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strukt.factor_graph.compile import Arrays, Problem
from strukt.factor_graph.messages import FactorGroup, factor_groups
from strukt.inference.settings import require_damping, require_iterations, require_tolerance
from strukt.kernels.full_precision import full_precision
from strukt.kernels.semiring import NEG_INF, finite, logsumexp


@dataclass(frozen=True)
class BeliefPropagation:
    """Approximate marginals and log-partition of a factor graph, by loopy belief propagation.

    Attributes:
        marginals: The estimated probability that each variable is 1, in the shape of the variables;
            differentiable. 0 in an item whose messages rule out every assignment.
        log_partition: ``batch``, the Bethe estimate; differentiable. -inf in such an item. In a graph with
            cycles, messages do not always reveal that no assignment is permitted.
        status: ``batch``, Boolean: True where the messages converged.
        residual: ``batch``, the largest relative change of a log-weight in the last round, before damping.
        iterations: ``batch``, the number of rounds.
    """

    marginals: Tensor | tuple[Tensor, ...]
    log_partition: Tensor
    status: Tensor
    residual: Tensor
    iterations: Tensor


@full_precision
def belief_propagation(
    problem: Problem, arrays: Arrays, iterations: int, damping: float, tol: float
) -> BeliefPropagation:
    """Run loopy belief propagation with all messages updated in parallel; gradients pass through all rounds.

    Args:
        problem: The graph, with scores.
        arrays: The shapes of the arrays of its variables.
        iterations: Maximum number of rounds. Items of the batch that have converged no longer change.
        damping: The weight of the old message in the new one, from 0 to below 1.
        tol: The residual at or below which an item has converged.

    Raises:
        ValueError: If ``iterations`` is below 1, or the damping or the tolerance is out of range.
        NotImplementedError: If a factor cannot sum over its assignments.
    """
    require_iterations(iterations)
    require_damping(damping)
    require_tolerance(tol)
    state = _Messages(problem)
    batch = len(problem.scores)
    messages = problem.scores.new_zeros(batch, len(problem.layout.copies), 2)
    residual = problem.scores.new_zeros(batch)
    rounds = torch.zeros(batch, dtype=torch.int64, device=residual.device)
    active = torch.ones(batch, dtype=torch.bool, device=residual.device)
    for _ in range(iterations):
        new, _ = state.updated(messages)
        residual = torch.where(active, _change(messages, new), residual)
        if damping:
            new = torch.where(new == NEG_INF, new, damping * messages + (1 - damping) * new)
        messages = torch.where(active[:, None, None], _normalised(new), messages)
        rounds = rounds + active
        active = active & ~(residual <= tol)
        if not bool(active.any()):
            break
    if bool(active.any()):
        warnings.warn(
            f"belief_propagation stopped after {iterations} rounds while messages still change by "
            f"{residual.max().item():.2g}; increase iterations or damping",
            stacklevel=3,
        )
    beliefs = state.beliefs(messages)
    shape, log_partition = problem.batch_shape, state.log_partition(messages, beliefs)
    marginals = _probability_of_one(beliefs)
    marginals = torch.where((log_partition == NEG_INF).unsqueeze(-1), torch.zeros_like(marginals), marginals)
    return BeliefPropagation(
        arrays.shaped(marginals.reshape(*shape, marginals.shape[1]).to(problem.type)),
        log_partition.reshape(shape).to(problem.type),
        ~active.reshape(shape),
        residual.reshape(shape),
        rounds.reshape(shape),
    )


class _Messages:
    """The message updates of one graph.

    A copy is one occurrence of a variable in a factor, as in `Layout`. Messages from factors to variables are
    ``(batch, copies, 2)``, with the log-weights of the values 0 and 1 on the last axis.
    """

    def __init__(self, problem: Problem) -> None:
        device = problem.scores.device
        self._copies = torch.from_numpy(problem.layout.copies).to(device)
        self._negated = torch.from_numpy(problem.layout.negated).to(device)[:, None]
        self._scores = torch.stack([torch.zeros_like(problem.scores), problem.scores], -1)
        self._groups: list[FactorGroup] = factor_groups(problem)
        order = np.concatenate(
            [np.zeros(0, dtype=np.int64), *(group.copies.reshape(-1) for group in self._groups)]
        )
        self._order = torch.from_numpy(np.argsort(order)).to(device)

    def updated(self, messages: Tensor) -> tuple[Tensor, Tensor]:
        """Return the new messages ``(batch, copies, 2)``, and the log-sum over each factor's assignments.

        The log-sums are ``(batch, factors)``, in the order of the groups of factors. Where a factor returns -inf
        for both values, as it may for a variable whose value is already fixed, the old message stays.
        """
        incoming = self._oriented(self.cavities(messages))
        outgoing, totals = [incoming[:, :0]], [incoming[:, :0, 0]]
        for group in self._groups:
            sums, total = group.sums(incoming[:, group.columns])
            outgoing.append(sums.flatten(1, 2))
            totals.append(total)
        new = self._oriented(torch.cat(outgoing, 1)[:, self._order])
        unknown = (new == NEG_INF).all(-1, keepdim=True)
        return torch.where(unknown, messages, _normalised(new)), torch.cat(totals, 1)

    def beliefs(self, messages: Tensor) -> Tensor:
        """Return the log-weights of the values of each variable, ``(batch, V, 2)``."""
        total, ruled_out = self._totals(messages)
        return torch.where(ruled_out > 0, NEG_INF, self._scores + total)

    def cavities(self, messages: Tensor) -> Tensor:
        """Return the messages to factors ``(batch, copies, 2)``: scores plus messages from all *other* factors."""
        total, ruled_out = (each[:, self._copies] for each in self._totals(messages))
        others = self._scores[:, self._copies] + total - finite(messages)
        return _normalised(torch.where(ruled_out > (messages == NEG_INF).to(messages), NEG_INF, others))

    def log_partition(self, messages: Tensor, beliefs: Tensor) -> Tensor:
        """Return the Bethe estimate ``(batch,)``: a term per factor and variable, minus a term per message."""
        _, factors = self.updated(messages)
        variables = logsumexp(beliefs, -1)
        edges = logsumexp(self.cavities(messages) + messages, -1)
        impossible = torch.cat([factors, variables, edges], -1) == NEG_INF
        terms = torch.cat([factors, variables, -edges], -1)
        return torch.where(impossible.any(-1), NEG_INF, torch.where(impossible, 0.0, terms).sum(-1))

    def _totals(self, messages: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sum of the finite messages to each variable, and the number of others; ``(batch, V, 2)``."""
        nothing = torch.zeros_like(self._scores)
        return (
            nothing.index_add(1, self._copies, finite(messages)),
            nothing.detach().index_add(1, self._copies, (messages == NEG_INF).to(messages)),
        )

    def _oriented(self, pairs: Tensor) -> Tensor:
        """Swap the log-weights of negated copies, from values of variables to values that factors see, or back."""
        return torch.where(self._negated, pairs.flip(-1), pairs)


def _normalised(pairs: Tensor) -> Tensor:
    """Shift two log-weights so that the larger one is 0; (-inf, -inf) becomes (0, 0)."""
    top = pairs.detach().amax(-1, keepdim=True)
    return torch.where(top == NEG_INF, 0.0, pairs - finite(top))


def _change(old: Tensor, new: Tensor) -> Tensor:
    """Return the largest relative change of a log-weight in each item; infinity for a change to or from -inf."""
    old, new = old.detach(), new.detach()
    same = old == new
    size = 1 + torch.maximum(old.abs(), new.abs())
    infinite = ~same & ((old == NEG_INF) | (new == NEG_INF))
    change = torch.where(same | infinite, 0.0, old - new).abs() / torch.where(same, 1.0, size)
    change = torch.where(infinite, torch.inf, change)
    return change.flatten(1).amax(1) if change.shape[1] else change.new_zeros(len(change))


def _probability_of_one(pairs: Tensor) -> Tensor:
    """Return the probability of 1 from the log-weights of 0 and 1; 0 if both are -inf."""
    zero, one = _normalised(pairs).unbind(-1)
    none = (pairs == NEG_INF).all(-1)
    return torch.where(none, 0.0, one.exp() / (zero.exp() + one.exp()))
