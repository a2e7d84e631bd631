"""Sums over the assignments of counting and knapsack factors, by one dynamic program.

Each variable that is 1 adds its cost to a total. The forward table holds the log-weight of each total of the first
variables. The backward table holds the log-weight of completing each total to a permitted one with the remaining
variables. Together they yield the sums for both values of each variable. No logarithms are subtracted, so the sums
are accurate for weights of any size.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, logsumexp


def count(weights: Tensor, costs: list[int], terminal: Tensor, saturating: bool) -> tuple[Tensor, Tensor]:
    """Return the log-sums over all assignments, in O(n s) time for n variables and s totals.

    Args:
        weights: Log-weights of 0 and of 1 of each variable, ``(..., n, 2)``; -inf for a value that is ruled out.
        costs: The cost that each variable adds to the total if it is 1.
        terminal: Log-weights of the totals 0 to s - 1, ``(..., s)``.
        saturating: If True, totals above s - 1 count as s - 1; otherwise they are forbidden.

    Returns:
        For each variable, the log-sums over the assignments in which it is 0 and in which it is 1,
        ``(..., n, 2)``, without the variable's own weight. And the log-weights of the totals ``(..., s)``, without
        ``terminal``.

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
    """Return the costs as integers.

    Raises:
        NotImplementedError: If they are not whole numbers of 0 or more.
    """
    values = [float(cost) for cost in costs]
    if any(cost != round(cost) or cost < 0 for cost in values):
        raise NotImplementedError(
            f"belief propagation needs costs that are whole numbers of 0 or more; a factor has {values}; scale "
            "and round the costs of the Knapsack, or use lp_sparsemap"
        )
    return [round(cost) for cost in values]


def _either(left: Tensor, right: Tensor) -> Tensor:
    return logsumexp(torch.stack([left, right], -1), -1)


def _forward(totals: Tensor, cost: int, saturating: bool) -> Tensor:
    """Return the log-weights of the totals after adding ``cost``.

    Totals beyond the last one are added to it if ``saturating``, and otherwise dropped.
    """
    size = totals.shape[-1]
    cost = min(cost, size)
    moved = torch.cat([torch.full_like(totals[..., :cost], NEG_INF), totals[..., : size - cost]], -1)
    if not saturating or not cost:
        return moved
    last = logsumexp(totals[..., max(size - 1 - cost, 0) :], -1)
    return torch.cat([moved[..., :-1], last.unsqueeze(-1)], -1)


def _backward(rest: Tensor, cost: int, saturating: bool) -> Tensor:
    """Return, for each total, the entry of ``rest`` at that total plus ``cost``.

    Beyond the last total, it is the last entry if ``saturating``, and otherwise -inf.
    """
    size = rest.shape[-1]
    cost = min(cost, size)
    beyond = (
        rest[..., -1:].expand_as(rest[..., :cost])
        if saturating
        else torch.full_like(rest[..., :cost], NEG_INF)
    )
    return torch.cat([rest[..., cost:], beyond], -1)
