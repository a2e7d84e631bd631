"""Maps of rows of scores to the simplex in PyTorch, with the threshold by bisection in float64.

The weight of a score is a deformed exponential (Tsallis 1988) of its distance above the threshold s, relative to
the largest score:

    exp_b(u) = [1 + b u]_+ ** (1 / b),  exp_0(u) = exp(u),  with b = alpha - 1 and u = x - max x - s

Entmax (Peters, Niculae and Martins 2019, equation 10) chooses s such that the weights sum to one. Normmax
(Blondel, Martins and Niculae 2020) has u / b instead of u, and chooses s such that the weights to the power of
alpha sum to one. For negative b no weight is 0, and weights decay as a power of u, while those of softmax decay
exponentially.

For b above 1, small weights of entmax are high roots of differences, which lose precision relative to the largest
score. They are therefore computed as (g + w ** b) ** (1 / b), where w is the weight of the smallest score of the
support, and g is b times the difference of x from that score.
"""

from __future__ import annotations

import torch
from torch import Tensor

STEPS = 100
"""The number of bisections, more than the binary digits of a double."""


def deformed_exp(u: Tensor, b: Tensor) -> Tensor:
    """Return ``[1 + b u]_+ ** (1 / b)``, and ``exp(u)`` where b is 0; u is at most 0 where b is negative."""
    curved = torch.where(b != 0, b, torch.ones_like(b))
    inside = (curved * u).clamp(min=-1.0)
    return torch.where(b != 0, (inside.log1p() / curved).exp(), u.exp())


def entmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """Return probabilities ``(rows, d)`` for an alpha above 0 for each row; rows of only -inf become zeros."""
    b = alpha.double().unsqueeze(-1) - 1.0
    log_size = torch.full_like(b, float(max(scores.shape[-1], 1))).log()
    most = torch.where(b != 0, -torch.expm1(-b * log_size) / torch.where(b != 0, b, 1.0), log_size)
    result = _solve(scores, b, torch.ones_like(b), torch.ones_like(b), most)
    beyond = (b > 1) & result.isfinite() & (scores > -torch.inf)
    return torch.where(beyond, _solve_gaps(scores, b), result) if bool(beyond.any()) else result


def normmax(scores: Tensor, alpha: Tensor) -> Tensor:
    """Return probabilities ``(rows, d)`` for an alpha above 1 for each row; rows of only -inf become zeros."""
    b = alpha.double().unsqueeze(-1) - 1.0
    return _solve(scores, b, b, 1.0 + b, torch.ones_like(b))


def _solve(scores: Tensor, b: Tensor, unit: Tensor, power: Tensor, most: Tensor) -> Tensor:
    """Return the weights exp_b((x - max x - s) / unit), divided by their sum, ``(rows, d)``.

    The threshold s, at most ``most``, is such that the weights to the power of ``power`` sum to one. All arguments
    but the scores are ``(rows, 1)``.
    """
    top = scores.amax(-1, keepdim=True) if scores.shape[-1] else scores.new_zeros(len(scores), 1)
    heights = scores.double() - torch.where(top == -torch.inf, 0.0, top.double())
    low, high = torch.zeros_like(b), most
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = (deformed_exp((heights - middle) / unit, b) ** power).sum(-1, keepdim=True) >= 1.0
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    weights = deformed_exp((heights - low) / unit, b)
    result = weights / weights.sum(-1, keepdim=True)
    return torch.where(top == -torch.inf, 0.0, result).to(scores.dtype)


def _solve_gaps(scores: Tensor, b: Tensor) -> Tensor:
    """Return entmax ``(rows, d)`` for b of at least 1, ``(rows, 1)``; smaller b count as 1.

    Bisection determines the smallest score of the support, then its weight.
    """
    b = b.clamp(min=1.0)
    ranked = scores.double().sort(dim=-1, descending=True).values
    last = ((ranked > -torch.inf).sum(-1, keepdim=True) - 1).clamp(min=0)
    first = torch.zeros_like(last)
    for _ in range(scores.shape[-1].bit_length()):
        middle = (first + last + 1) // 2
        total = _gap_weights(ranked, ranked.gather(-1, middle), torch.zeros_like(b), b).sum(-1, keepdim=True)
        first, last = torch.where(total < 1.0, middle, first), torch.where(total < 1.0, last, middle - 1)
    least = ranked.gather(-1, first)
    low, high = torch.zeros_like(b), torch.ones_like(b)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = _gap_weights(ranked, least, middle, b).sum(-1, keepdim=True) >= 1.0
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    weights = _gap_weights(scores.double(), least, low, b)
    return (weights / weights.sum(-1, keepdim=True)).to(scores.dtype)


def _gap_weights(scores: Tensor, least: Tensor, smallest: Tensor, b: Tensor) -> Tensor:
    """Return ``(b (x - least) + smallest ** b) ** (1 / b)`` for scores x from ``least`` on, and 0 below it.

    All arguments but the scores are ``(rows, 1)``; ``smallest`` is the weight of the score ``least``.
    """
    gaps = b * (scores - least)
    raised = (gaps.clamp(min=0.0) + smallest**b) ** (1.0 / b)
    return torch.where(gaps > 0.0, raised, torch.where(gaps == 0.0, smallest, 0.0))
