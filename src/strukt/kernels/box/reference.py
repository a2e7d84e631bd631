"""The projection onto the unit cube cut at a sum, in PyTorch, with the threshold by bisection."""

from __future__ import annotations

import torch
from torch import Tensor

STEPS = 100
"""The number of bisections, more than the digits of a double."""


def subset(scores: Tensor, size: Tensor) -> Tensor:
    """Return ``clip(x - t, 0, 1)`` with sum ``size`` in each row ``(rows, d)``; NaN in a row with NaN or +inf."""
    heights = scores.double()
    possible = heights > -torch.inf
    if not scores.shape[-1]:
        return scores.clone()
    sizes = size.double().unsqueeze(-1)
    finite = torch.where(possible, heights, 0.0)
    high = torch.where(possible, heights, -torch.inf).amax(-1, keepdim=True)
    low = torch.where(possible, heights, torch.inf).amin(-1, keepdim=True) - 1.0
    high, low = torch.where(high > -torch.inf, high, 0.0), torch.where(low < torch.inf, low, 0.0)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = torch.where(possible, (finite - middle).clamp(0.0, 1.0), 0.0).sum(-1, keepdim=True) >= sizes
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    full = possible.sum(-1, keepdim=True) <= sizes
    result = torch.where(full, 1.0, (finite - low).clamp(0.0, 1.0))
    wrong = ~(heights < torch.inf).all(-1, keepdim=True)
    return torch.where(possible, result, 0.0).masked_fill(wrong, torch.nan).to(scores.dtype)
