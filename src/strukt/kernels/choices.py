"""Choices that are independent given the parts of a structure: labels of arcs, bits of spans."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF

Steps = list[tuple[Tensor, Tensor, Tensor]]
"""The back-pointers at each place: the pair that each combination ends with, ``(..., count)``, and the two ranks
of each pair, ``(pairs,)`` each, that of the combination of all earlier places and that of the alternative."""


def expected_surprise(used: Tensor, log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return -E[log q] of the choices at the parts of a structure drawn from p, ``(batch,)``, in nats.

    An infinite result is constant: it has no derivative.

    Args:
        used: The probability of each part under p ``(batch, ...)``.
        log_p: The log-probabilities ``(batch, ..., *choices)`` of the alternatives at each part under p.
        log_q: The log-probabilities of the alternatives under q, in the same shape.
    """
    possible = log_p > NEG_INF
    missing = possible & (log_q == NEG_INF)
    each = torch.where(possible, -log_p.exp() * torch.where(possible & ~missing, log_q, 0.0), 0.0)
    at_part = torch.where(used > 0, each.flatten(used.dim()).sum(-1), 0.0)
    expected = torch.where(used > 0, used * at_part, 0.0).flatten(1).sum(1)
    infinite = (missing.flatten(used.dim()).any(-1) & (used > 0)).flatten(1).any(1)
    return torch.where(infinite, torch.inf, expected)


def draw(cumulative: Tensor, rows: Tensor) -> Tensor:
    """Draw one alternative from each requested row, by bisection in O(log c).

    Args:
        cumulative: Running sums of the weights of alternatives ``(batch, rows, c)``.
        rows: The row to draw from ``(batch, count)``.

    Returns:
        ``(batch, count)``; the last alternative if all weights are 0.
    """
    c = cumulative.shape[-1]
    flat, first = cumulative.flatten(1), rows * c
    target = torch.rand(rows.shape, dtype=flat.dtype, device=flat.device) * flat.gather(1, first + c - 1)
    low, high = torch.zeros_like(rows), torch.full_like(rows, c - 1)
    for _ in range((c - 1).bit_length()):
        middle = (low + high) // 2
        below = flat.gather(1, first + middle) <= target
        low, high = torch.where(below, (middle + 1).clamp(max=c - 1), low), torch.where(below, high, middle)
    return high


def best_combinations(scores: Tensor, k: int) -> tuple[Tensor, Steps]:
    """Return the k best combinations of one alternative at each of n places, or all if there are fewer.

    Args:
        scores: Scores of alternatives ``(..., n, c)``, descending.
        k: The number of combinations to return.

    Returns:
        The scores of the combinations ``(..., count)``, descending, and the steps that `ranks` traces back.

    After each place the k best combinations so far are kept. Extending the i-th best one by the j-th best
    alternative can yield one of the k best only if i j <= k, so a place has O(k log k) candidates.
    """
    totals, steps = scores.new_zeros(*scores.shape[:-2], 1), []
    for place in range(scores.shape[-2]):
        before, chosen = _pairs(totals.shape[-1], scores.shape[-1], k, scores.device)
        sums = totals[..., before] + scores[..., place, chosen]
        totals, order = sums.topk(min(k, sums.shape[-1]), -1)
        steps.append((order, before, chosen))
    return totals, steps


def ranks(steps: Steps, rows: Tensor, ways: Tensor) -> Tensor:
    """Return the ranks of the alternatives in some combinations of `best_combinations`.

    Args:
        steps: The back-pointers of combinations with leading axes ``(batch, rows)``.
        rows: The row of each requested combination ``(batch, count)``.
        ways: The rank of the requested combination in that row ``(batch, count)``.

    Returns:
        ``(batch, count, n)``, the rank of the alternative at each place.
    """
    traced = []
    for order, before, chosen in reversed(steps):
        pair = order.flatten(1).gather(1, rows * order.shape[-1] + ways)
        traced.append(chosen[pair])
        ways = before[pair]
    return torch.stack(traced[::-1], -1) if traced else ways.new_zeros(*ways.shape, 0)


def _pairs(first: int, second: int, k: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the pairs of ranks, from 0, that fewer than k other pairs dominate in both ranks."""
    left, right = torch.arange(first, device=device)[:, None], torch.arange(second, device=device)
    kept = ((left + 1) * (right + 1) <= k).nonzero()
    return kept[:, 0], kept[:, 1]
