"""Clusters of observations (k-means), where restarts of a fit place the means of Gaussians and Poisson rates."""

from __future__ import annotations

import torch
from torch import Tensor

ROUNDS = 10
"""The number of rounds of k-means; they are few because EM refines the result."""


def clusters(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return centres ``(count, d)`` of vectors ``(t, d)``, t >= 1, and the cluster of each vector ``(t,)``.

    A few rounds of k-means start at random vectors, each drawn in proportion to its squared distance from the
    nearest of those drawn before (k-means++, Arthur and Vassilvitskii 2007), with PyTorch's generator. Dimensions
    are scaled to the same variance. O(t d count) per round.
    """
    scale = values.std(0, correction=0)
    scaled = values / torch.where(scale > 0, scale, 1.0)
    chosen = [scaled[torch.randint(len(scaled), (), device=values.device)]]
    nearest = torch.full_like(scaled[:, 0], torch.inf)
    while len(chosen) < count:
        nearest = torch.minimum(nearest, (scaled - chosen[-1]).square().sum(1))
        chances = torch.where(nearest.sum() > 0, nearest, 1.0)
        chosen.append(scaled[torch.multinomial(chances, 1).squeeze(0)])
    centres = torch.stack(chosen)
    for _ in range(ROUNDS):
        members = torch.cdist(scaled, centres).argmin(1)
        sizes = torch.bincount(members, minlength=count).to(scaled.dtype).unsqueeze(1)
        sums = torch.zeros_like(centres).index_add_(0, members, scaled)
        centres = torch.where(sizes > 0, sums / sizes.clamp(min=1.0), centres)
    return centres * torch.where(scale > 0, scale, 1.0), torch.cdist(scaled, centres).argmin(1)
