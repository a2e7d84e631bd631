"""Maps of rows of scores to the simplex, in PyTorch: the threshold by bisection, in float64.

The weight of a score is a deformed exponential (Tsallis 1988) of what it lies above the threshold s, counted from
the largest score:

    exp_b(u) = [1 + b u]_+ ** (1 / b),  exp_0(u) = exp(u),  with b = alpha - 1 and u = x - max x - s

entmax (Peters, Niculae and Martins 2019, equation 10) chooses s such that the weights sum to one, normmax
(Blondel, Martins and Niculae 2020) such that their powers of alpha do, with u / b in the place of u.
"""

from __future__ import annotations

import torch
from torch import Tensor

STEPS = 100
"""Bisections: more than a double has digits."""


def deformed_exp(u: Tensor, b: Tensor) -> Tensor:
    """``[1 + b u]_+ ** (1 / b)``, and ``exp(u)`` where b is 0."""
    curved = torch.where(b > 0, b, torch.ones_like(b))
    inside = (curved * u).clamp(min=-1.0)
    return torch.where(b > 0, (inside.log1p() / curved).exp(), u.exp())


def entmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """Probabilities ``(rows, d)`` for an alpha of at least 1 for each row; rows of -inf become zeros."""
    b = alpha.double().unsqueeze(-1) - 1.0
    log_size = torch.full_like(b, float(max(scores.shape[-1], 1))).log()
    most = torch.where(b > 0, -torch.expm1(-b * log_size) / torch.where(b > 0, b, 1.0), log_size)
    return _solve(scores, b, torch.ones_like(b), torch.ones_like(b), most)


def normmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """Probabilities ``(rows, d)`` for an alpha above 1 for each row; rows of -inf become zeros."""
    b = alpha.double().unsqueeze(-1) - 1.0
    return _solve(scores, b, b, 1.0 + b, torch.ones_like(b))


def _solve(scores: Tensor, b: Tensor, unit: Tensor, power: Tensor, most: Tensor) -> Tensor:
    """Weights of ``(u - s) / unit`` that sum to one to some power, divided by their sum; s is at most ``most``."""
    top = scores.amax(-1, keepdim=True) if scores.shape[-1] else scores.new_zeros(len(scores), 1)
    heights = scores.double() - torch.where(top == -torch.inf, 0.0, top.double())
    low, high = torch.zeros_like(b), most
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = (deformed_exp((heights - middle) / unit, b) ** power).sum(-1, keepdim=True) >= 1.0
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    weights = deformed_exp((heights - low) / unit, b)
    found = weights / weights.sum(-1, keepdim=True)
    return torch.where(top == -torch.inf, 0.0, found).to(scores.dtype)
