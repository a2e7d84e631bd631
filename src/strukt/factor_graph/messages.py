"""Sums over the assignments of factors for belief propagation, batched over factors of one kind and size."""

from __future__ import annotations

import abc
import math

import numpy as np
import torch
from torch import Tensor

from strukt.factor_graph.compile import Problem
from strukt.factor_graph.counting import count, whole
from strukt.factor_graph.oracles import Oracle
from strukt.factor_graph.soft import Places
from strukt.inference.lp_sparsemap.graph import BAND, OR_OUT, ORACLE, PAIR
from strukt.kernels.semiring import NEG_INF, logsumexp


class FactorGroup(abc.ABC):
    """Factors of one kind and size.

    Args:
        copies: The index of each factor's variables among the copies of the graph, ``(factors, size)``.
        device: The device of the scores.
    """

    def __init__(self, copies: Places, device: torch.device) -> None:
        self.copies = copies
        self.columns = torch.from_numpy(copies).to(device)

    @abc.abstractmethod
    def sums(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-sums of the weights of assignments.

        The log-weight of an assignment is the sum of the log-weights of its values, plus its local score.

        Args:
            weights: Log-weights of 0 and of 1, ``(batch, factors, size, 2)``; -inf for a value that is ruled out.

        Returns:
            In the shape of ``weights``, the log-sums over the assignments in which a variable is 0 and in which it
            is 1, without the weight of that variable; -inf for both if they cannot be computed. And the log-sum
            over all assignments, ``(batch, factors)``.
        """


class Bands(FactorGroup):
    """Factors with a lower and an upper bound on a sum of integer costs."""

    def __init__(
        self, copies: Places, device: torch.device, costs: tuple[float, ...], low: float, high: float
    ) -> None:
        super().__init__(copies, device)
        self._costs = whole(costs)
        least = max(0, math.ceil(low)) if low > -math.inf else 0
        self._saturating = high == math.inf
        most = least if self._saturating else min(math.floor(high), sum(self._costs))
        totals = torch.arange(most + 1, device=device)
        self._permitted = totals >= least

    def sums(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        terminal = torch.where(self._permitted, weights.new_zeros(()), NEG_INF)
        sums, totals = count(weights, self._costs, terminal, self._saturating)
        return sums, logsumexp(totals + terminal, -1)


class OrOuts(FactorGroup):
    """Factors whose last variable is 1 if and only if at least one of the others is."""

    def sums(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        inputs, output = weights[..., :-1, :], weights[..., -1, :]
        sums, totals = count(inputs, [1] * inputs.shape[-2], output, saturating=True)
        return torch.cat([sums, totals.unsqueeze(-2)], -2), logsumexp(totals + output, -1)


class Pairs(FactorGroup):
    """Pairs with a score, ``(batch or 1, factors)``, that counts if both variables are 1."""

    def __init__(self, copies: Places, device: torch.device, scores: Tensor) -> None:
        super().__init__(copies, device)
        self._scores = scores

    def sums(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        opposite = weights.flip(-2)
        zero = logsumexp(opposite, -1)
        one = logsumexp(opposite + _on_ones(self._scores.unsqueeze(-1)), -1)
        sums = torch.stack([zero, one], -1)
        return sums, logsumexp((sums + weights)[..., 0, :], -1)


class Single(FactorGroup):
    """A single factor, evaluated by its oracle."""

    def __init__(self, copies: Places, device: torch.device, oracle: Oracle) -> None:
        super().__init__(copies, device)
        self._oracle = oracle

    def sums(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        sums, total = self._oracle.messages(weights.squeeze(1))
        return sums.unsqueeze(1), total.unsqueeze(1)


def factor_groups(problem: Problem) -> list[FactorGroup]:
    """Group the factors of a graph by kind and size.

    Raises:
        NotImplementedError: If a factor has costs that are not integers.
    """
    layout, device = problem.layout, problem.scores.device
    members: dict[tuple[object, ...], list[int]] = {}
    for f, kind in enumerate(layout.kinds.tolist()):
        first, last = layout.starts[f], layout.starts[f + 1]
        key: tuple[object, ...] = (kind, int(last - first))
        if kind == BAND:
            key = (
                kind,
                tuple(layout.costs[first:last].tolist()),
                float(layout.low[f]),
                float(layout.high[f]),
            )
        elif kind == ORACLE:
            key = (kind, f)
        members.setdefault(key, []).append(f)
    oracles = iter(problem.oracles)
    groups: list[FactorGroup] = []
    for (kind, *rest), numbers in members.items():
        copies = np.stack([np.arange(layout.starts[f], layout.starts[f + 1]) for f in numbers])
        if kind == BAND:
            groups.append(Bands(copies, device, *rest))  # type: ignore[arg-type]
        elif kind == OR_OUT:
            groups.append(OrOuts(copies, device))
        elif kind == PAIR:
            columns = torch.from_numpy(layout.pair[numbers]).to(device)
            groups.append(Pairs(copies, device, problem.pair_scores[:, columns]))
        else:
            groups.append(Single(copies, device, next(oracles)))
    return groups


def _on_ones(scores: Tensor) -> Tensor:
    """Return the log-weights of 0 and of 1 on a new last axis: 0 and the score."""
    return torch.stack([torch.zeros_like(scores), scores], -1)
