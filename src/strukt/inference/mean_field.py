"""Mean field for binary variables: the product of independent variables nearest to their distribution.

Every product q bounds the log-partition from below: E_q[score] + H(q) <= log Z, with equality only if q is the
distribution itself (Wainwright and Jordan 2008, section 5). Setting one marginal to the best value given all
others never lowers the bound, so that sweeps over the variables converge.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.inference.settings import require_iterations
from strukt.kernels.semiring import NEG_INF


@dataclass(frozen=True)
class MeanField:
    """A product of independent binary variables.

    Attributes:
        marginals: ``batch + (n,)``, the probability of each 1; differentiable.
        lower_bound: ``batch``, on the log-partition; differentiable.
        change: ``batch``, by how much the last sweep changed the marginals, summed.
    """

    marginals: Tensor
    lower_bound: Tensor
    change: Tensor


def mean_field(unary: Tensor, pairwise: Tensor, iterations: int) -> MeanField:
    """Coordinate ascent from independent variables; derivatives by unrolling.

    Args:
        unary: ``batch + (n,)``, the score of each 1; -inf for a variable that is 0.
        pairwise: ``batch + (n, n)``, symmetric with a zero diagonal: the score of two ones; -inf if they exclude
            each other.
        iterations: Sweeps over all variables, O(n^2) time each.

    Raises:
        ValueError: If there are no iterations.

    Examples:
        >>> ones = mean_field(torch.tensor([1.0, -1.0]), torch.zeros(2, 2), 1)
        >>> ones.marginals
        tensor([0.7311, 0.2689])
    """
    require_iterations(iterations)
    excluded = pairwise == NEG_INF
    pairwise = torch.where(excluded, torch.zeros_like(pairwise), pairwise)
    index = torch.arange(unary.shape[-1], device=unary.device)
    marginals = before = unary.sigmoid()
    for _ in range(iterations):
        before = marginals
        for i in range(unary.shape[-1]):
            blocked = (excluded[..., i, :] & (marginals > 0)).any(-1)
            field = unary[..., i] + (pairwise[..., i, :] * marginals).sum(-1)
            value = torch.where(blocked, torch.zeros_like(field), field.sigmoid())
            marginals = torch.where(index == i, value.unsqueeze(-1), marginals)
    change = (marginals - before).detach().abs().sum(-1)
    return MeanField(marginals, _bound(unary, pairwise, marginals), change)


def _bound(unary: Tensor, pairwise: Tensor, marginals: Tensor) -> Tensor:
    """Expected score and entropy of a product in which no two variables that exclude each other can be 1."""
    unary = torch.where(unary == NEG_INF, torch.zeros_like(unary), unary)
    field = unary + 0.5 * (pairwise @ marginals.unsqueeze(-1)).squeeze(-1)
    open_ = (marginals > 0) & (marginals < 1)
    safe = torch.where(open_, marginals, 0.5)
    entropy = torch.special.entr(safe) + torch.special.entr(1 - safe)
    return (marginals * field + torch.where(open_, entropy, torch.zeros_like(entropy))).sum(-1)
