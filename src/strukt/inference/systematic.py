"""Systematic sampling (Madow 1949): marginals of subsets as a mixture of few subsets."""

from __future__ import annotations

import torch
from torch import Tensor

NEGLIGIBLE = 1e-13
"""Weights below this are rounding errors."""


def systematic_mixture(marginals: Tensor) -> tuple[Tensor, Tensor]:
    """Return at most n + 1 subsets whose mixture has the given marginals; their sizes differ by at most one.

    Lay the elements out in a row, each as long as its marginal. A grid with step 1 selects the elements that
    contain a grid point. As the offset of the grid grows, the subset changes only when a grid point crosses a
    boundary between elements.

    Args:
        marginals: ``(batch, n)`` in [0, 1].

    Returns:
        Weights ``(batch, k)``, padded with 0 and differentiable in the marginals; and Boolean subsets
        ``(batch, k, n)``, padded with False. k is the largest number of subsets of a batch item.

    Complexity: O(n^2) per batch item.

    Examples:
        >>> systematic_mixture(torch.tensor([[1.0, 0.5, 0.5, 0.0]]))
        (tensor([[0.5000, 0.5000]]), tensor([[[ True,  True, False, False],
                 [ True, False,  True, False]]]))
    """
    zero = marginals.new_zeros(len(marginals), 1)
    ends = torch.cat([zero, marginals.cumsum(-1)], -1)
    places = (ends - ends.detach().floor()).clamp(0.0, 1.0)
    bounds = torch.cat([places.sort(-1).values, zero + 1.0], -1)
    weights = bounds.diff(dim=-1)
    grid = (bounds[:, 1:] + bounds[:, :-1]).detach().unsqueeze(-1) / 2
    passed = (ends.detach().unsqueeze(-2) - grid).ceil()
    return _without_empty(weights, passed[..., 1:] > passed[..., :-1])


def _without_empty(weights: Tensor, subsets: Tensor) -> tuple[Tensor, Tensor]:
    """Move subsets of positive weight to the front, in order; drop positions that are padding everywhere."""
    used = weights.detach() > NEGLIGIBLE
    size = max(int(used.sum(-1).max()), 1) if len(used) else 1
    order = used.int().sort(dim=-1, descending=True, stable=True).indices[:, :size]
    kept = used.gather(-1, order)
    chosen = torch.where(kept, weights.gather(-1, order), 0.0)
    return chosen, subsets.gather(1, order.unsqueeze(-1).expand(-1, -1, subsets.shape[-1])) & kept.unsqueeze(
        -1
    )
