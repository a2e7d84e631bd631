"""The projection onto the points of the unit cube with a given sum, in PyTorch, with the threshold by bisection.

The threshold lies less than 1 below the score of rank floor(size) + 1. That score is subtracted from all others,
so that the precision of the threshold does not depend on their range.
"""

from __future__ import annotations

import torch
from torch import Tensor

STEPS = 60
"""The number of bisections of an interval of length 1, more than the binary digits of a double."""


def subset(scores: Tensor, size: Tensor) -> Tensor:
    """Return ``clip(x - t, 0, 1)``, with t such that each row ``(rows, d)`` sums to its size ``(rows,)``.

    Scores of -inf map to 0, and all others to 1 if the size is at least their number. A row with NaN or +inf, or
    whose size is NaN, becomes NaN. A negative size counts as 0. Graphs of ``torch.compile`` do not check sizes, so
    no size may lead to an index out of bounds.
    """
    heights = scores.double()
    possible = heights > -torch.inf
    if not scores.shape[-1]:
        return scores.clone()
    sizes = size.double().clamp(min=0.0).unsqueeze(-1)
    ranked = torch.where(possible, heights, -torch.inf).sort(-1, descending=True).values
    pivot = ranked.gather(-1, sizes.nan_to_num().clamp(max=scores.shape[-1] - 1).long())
    finite = torch.where(possible & (pivot > -torch.inf), heights - pivot, 0.0)
    low, high = torch.full_like(sizes, -1.0), torch.zeros_like(sizes)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = torch.where(possible, (finite - middle).clamp(0.0, 1.0), 0.0).sum(-1, keepdim=True) >= sizes
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    full = possible.sum(-1, keepdim=True) <= sizes
    # At ``high``, entries that should be 0 are exactly 0; at ``low``, they would be 1e-18.
    result = torch.where(full, 1.0, (finite - high).clamp(0.0, 1.0))
    wrong = ~(heights < torch.inf).all(-1, keepdim=True) | sizes.isnan()
    return torch.where(possible, result, 0.0).masked_fill(wrong, torch.nan).to(scores.dtype)
