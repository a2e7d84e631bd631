"""Derivatives of the maps to the simplex, computed from the maps' values, in PyTorch: differentiable themselves.

With s = p ** (2 - alpha) on the support and 0 elsewhere, the Jacobian of entmax is diag(s) - s s' / sum s (Peters,
Niculae and Martins 2019, proposition 2).
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import call_backward
from strukt.kernels.functions import formula_function
from strukt.kernels.operator import operator

MOST = 0.8
"""Negative powers of probabilities are at most ``largest ** MOST``, with the largest number of their type, so that
sums of them are finite."""


def _powers(probabilities: Tensor, exponent: Tensor) -> Tensor:
    """Return ``p ** exponent`` on the support and 0 elsewhere, without NaN in any derivative."""
    used, each = probabilities > 0, exponent.detach()
    safe = torch.where(used, probabilities, 1.0).clamp(min=_least(each, each < 0, probabilities.dtype))
    return torch.where(used, safe ** exponent.unsqueeze(-1), 0.0)


def _least(exponent: Tensor, cut: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the p whose power is the largest allowed by `MOST`, ``(rows, 1)``, where the mask ``cut`` is True.

    It is 0 for other rows. Both arguments are ``(rows,)``, and the exponent is negative where ``cut`` is True.
    """
    most = torch.finfo(dtype).max ** MOST
    return torch.where(cut, most ** (1.0 / torch.where(cut, exponent, -1.0)), 0.0).unsqueeze(-1)


def _logs(probabilities: Tensor) -> Tensor:
    """Return logarithms on the support and 0 elsewhere."""
    return torch.where(probabilities > 0, probabilities, 1.0).log()


def curve(probabilities: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Return the logarithms of p and ``u = b log p`` with b = alpha - 1, ``(rows, d)``; 0 outside the support.

    For alpha below 1, ``e ** u = p ** b`` grows as p falls, and so does its slope, like ``p ** (b - 1)``. Small p
    are raised so that both stay finite.
    """
    each = alpha.detach().to(probabilities.dtype)
    safe = torch.where(probabilities > 0, probabilities, 1.0)
    logs = safe.clamp(min=_least(each - 2.0, each < 1, probabilities.dtype)).log()
    return logs, (alpha - 1.0).unsqueeze(-1).to(logs.dtype) * logs


def _pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """Return `entmax_pull` in PyTorch: ``s (v - <s, v> / sum s)`` for a direction v, with s as above."""
    weights = _powers(probabilities, (2.0 - alpha).to(probabilities.dtype))
    if not weights.shape[-1]:
        return weights
    # Above alpha = 2, one s may exceed all others by far. The mean is then close to its entry of v, and
    # differences cancel. So this entry is subtracted from all; its change is minus the sum of the other changes.
    place = weights.argmax(-1, keepdim=True)
    moves, others = direction - direction.gather(-1, place), weights.scatter(-1, place, 0.0)
    total = weights.gather(-1, place) + others.sum(-1, keepdim=True)
    mean = (others * moves).sum(-1, keepdim=True) / torch.where(total > 0, total, 1.0)
    changes = others * (moves - mean)
    return changes.scatter(-1, place, -changes.sum(-1, keepdim=True))


_PULL = formula_function(
    operator(
        __package__,
        "pull",
        "(Tensor direction, Tensor probabilities, Tensor alpha) -> Tensor",
        _pull,
        lambda direction, probabilities, alpha: torch.empty_like(direction),
    ),
    _pull,
)


def entmax_pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """Return the Jacobian of entmax with respect to the scores, times a direction, both ``(rows, d)``."""
    return call_backward(_PULL, direction, probabilities, alpha)  # type: ignore[no-any-return]


def entmax_sensitivity(probabilities: Tensor, alpha: Tensor) -> Tensor:
    """Return the derivative of entmax with respect to alpha, ``(rows, d)``.

    On the support ``(p ** b - 1) / b = x - tau`` with b = alpha - 1, so a change of alpha moves p like a change of
    the scores by ``-d/db (p ** b - 1) / b``. That is ``-phi(b log p) (log p) ** 2``, where
    ``phi(u) = (u e^u - e^u + 1) / u ** 2`` is 1/2 at alpha = 1.
    """
    logs, u = curve(probabilities, alpha)
    return entmax_pull(-phi(u) * logs**2, probabilities, alpha)


def phi(u: Tensor) -> Tensor:
    """Return ``(u e^u - e^u + 1) / u ** 2``, without cancellation at small u."""
    small = u.abs() < 0.5
    far = torch.where(small, -1.0, u)
    return torch.where(small, _series(u, small, 2), (far * far.exp() - far.expm1()) / far**2)


def mean_exp(u: Tensor) -> Tensor:
    """Return ``(e^u - 1) / u``, with derivatives that do not cancel at small u."""
    small = u.abs() < 0.5
    far = torch.where(small, -1.0, u)
    return torch.where(small, _series(u, small, 1), far.expm1() / far)


def _series(u: Tensor, small: Tensor, first: int) -> Tensor:
    """Return the sum of ``u ** k / (k! (k + first))`` where u is small."""
    near = torch.where(small, u, 0.0)
    series, term = torch.zeros_like(near), torch.ones_like(near)
    for k in range(16):
        series, term = series + term / (k + first), term * near / (k + 1)
    return series


def alpha_norm(points: Tensor, alpha: Tensor) -> Tensor:
    """Return the norm ``(sum p ** alpha) ** (1 / alpha)`` of each row of points p >= 0, ``(rows,)``.

    A row is divided by its largest entry first, so that its powers cannot all underflow; the norm is multiplied
    by it. The result is the same for any divisor, which therefore needs no derivative.
    """
    if not points.shape[-1]:
        return points.sum(-1)
    largest = points.detach().amax(-1)
    scale = torch.where(largest > 0, largest, 1.0)
    powers = _powers(points / scale.unsqueeze(-1), alpha).sum(-1)
    return scale * torch.where(powers > 0, powers, 1.0) ** (1.0 / alpha) * (powers > 0)


def _unnormalised(probabilities: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return, for normmax, w = p / norm(p), the sum of w, and the derivatives of w at a fixed threshold.

    The derivative of each w with respect to its score is ``w ** (1 - b) / b`` with b = alpha - 1.
    """
    norm = alpha_norm(probabilities, alpha)
    norm = torch.where(norm > 0, norm, 1.0)
    weights = probabilities / norm.unsqueeze(-1)
    return weights, 1.0 / norm.unsqueeze(-1), _powers(weights, 2.0 - alpha) / (alpha - 1.0).unsqueeze(-1)


def normmax_pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """Return the Jacobian of normmax with respect to the scores, times a direction, both ``(rows, d)``.

    The threshold moves by the mean direction under p, so that the powers ``w ** alpha`` still sum to one.
    """
    _, total, slopes = _unnormalised(probabilities, alpha.to(probabilities.dtype))
    change = slopes / total * (direction - (probabilities * direction).sum(-1, keepdim=True))
    return change - probabilities * change.sum(-1, keepdim=True)


def normmax_sensitivity(probabilities: Tensor, alpha: Tensor) -> Tensor:
    """Return the derivative of normmax with respect to alpha, ``(rows, d)``.

    It follows from ``w ** b = x - tau`` on the support, where the powers ``w ** alpha`` sum to one.
    """
    exponent = alpha.to(probabilities.dtype)
    weights, total, slopes = _unnormalised(probabilities, exponent)
    logs = _logs(weights)
    threshold = -(_powers(weights, exponent) * logs).sum(-1, keepdim=True) / (exponent.unsqueeze(-1) * total)
    change = -slopes / total * (threshold + _powers(weights, exponent - 1.0) * logs)
    return change - probabilities * change.sum(-1, keepdim=True)
