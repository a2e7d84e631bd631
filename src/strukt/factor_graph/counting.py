"""Sums over the assignments of factors that count ones, or add up costs: one dynamic program for all of them.

A table holds the log-weight of each total that the first variables reach, another that of reaching a permitted
one from there with the rest; together they give the sums for either value of each variable, in which no logarithm
is subtracted, so that they are exact for weights of any size.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, logsumexp


def count(weights: Tensor, costs: list[int], terminal: Tensor, saturating: bool) -> tuple[Tensor, Tensor]:
    """Sum over all assignments, O(n s) time for s totals.

    Args:
        weights: Log-weights of 0 and of 1 of each variable, ``(..., n, 2)``; -inf for a value that is ruled out.
        costs: What a 1 of each variable adds to the total.
        terminal: Log-weights of the totals 0 to s - 1, ``(..., s)``; higher ones are forbidden.
        saturating: Whether the last total stands for all higher ones as well instead.

    Returns:
        Log-sums for a 0 and for a 1 of each variable ``(..., n, 2)``, its own weight left out; and the log-weights
        of the totals ``(..., s)`` before ``terminal``.

    Examples:
        >>> weights = torch.tensor([[0.0, 1.0], [0.0, 2.0]])
        >>> only_one = torch.tensor([NEG_INF, 0.0])
        >>> count(weights, [1, 1], only_one, False)[0]
        tensor([[2., 0.],
                [1., 0.]])
    """
    zero, one = weights.unbind(-1)
    reached = torch.full_like(terminal, NEG_INF)
    reached = torch.cat([torch.zeros_like(terminal[..., :1]), reached[..., 1:]], -1)
    reached = reached.expand(*weights.shape[:-2], -1)
    before = []
    for i, cost in enumerate(costs):
        before.append(reached)
        moved = _forward(reached, cost, saturating)
        reached = _either(reached + zero[..., i, None], moved + one[..., i, None])
    rest = terminal.expand_as(reached)
    sums = []
    for i in range(len(costs) - 1, -1, -1):
        taken = _backward(rest, costs[i], saturating)
        sums.append(torch.stack([logsumexp(before[i] + rest, -1), logsumexp(before[i] + taken, -1)], -1))
        rest = _either(rest + zero[..., i, None], taken + one[..., i, None])
    return torch.stack(sums[::-1], -2), reached


def whole(costs: Iterable[float]) -> list[int]:
    """Costs as whole numbers.

    Raises:
        NotImplementedError: If they are not.
    """
    given = [float(cost) for cost in costs]
    if any(cost != round(cost) or cost < 0 for cost in given):
        raise NotImplementedError(
            f"belief propagation adds up costs that are whole numbers from 0 on, but a factor has {given}; scale "
            "and round the costs of the Knapsack, or use lp_sparsemap"
        )
    return [round(cost) for cost in given]


def _either(left: Tensor, right: Tensor) -> Tensor:
    return logsumexp(torch.stack([left, right], -1), -1)


def _forward(totals: Tensor, cost: int, saturating: bool) -> Tensor:
    """The log-weights of the totals once ``cost`` is added."""
    size = totals.shape[-1]
    cost = min(cost, size)
    moved = torch.cat([torch.full_like(totals[..., :cost], NEG_INF), totals[..., : size - cost]], -1)
    if not saturating or not cost:
        return moved
    last = logsumexp(totals[..., max(size - 1 - cost, 0) :], -1)
    return torch.cat([moved[..., :-1], last.unsqueeze(-1)], -1)


def _backward(rest: Tensor, cost: int, saturating: bool) -> Tensor:
    """For each total, the log-weight that stands where it leads once ``cost`` is added."""
    size = rest.shape[-1]
    cost = min(cost, size)
    beyond = (
        rest[..., -1:].expand_as(rest[..., :cost])
        if saturating
        else torch.full_like(rest[..., :cost], NEG_INF)
    )
    return torch.cat([rest[..., cost:], beyond], -1)
