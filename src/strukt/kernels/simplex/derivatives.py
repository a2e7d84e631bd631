"""Derivatives of the maps to the simplex, read off their values; all are in PyTorch, to be differentiated again.

With s = p ** (2 - alpha) on the support and 0 elsewhere, the Jacobian of entmax is diag(s) - s s' / sum s (Peters,
Niculae and Martins 2019, proposition 2).
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import formula_function
from strukt.kernels.operator import operator

MOST = 0.8
"""Negative powers are cut at the largest number to this power, so that their sums and products stay finite."""


def _powers(probabilities: Tensor, exponent: Tensor) -> Tensor:
    """``p ** exponent`` on the support and 0 elsewhere, without a NaN in any derivative."""
    used, falls = probabilities > 0, exponent.detach() < 0
    most = torch.finfo(probabilities.dtype).max ** MOST
    least = torch.where(falls, most ** (1.0 / torch.where(falls, exponent.detach(), -1.0)), 0.0)
    safe = torch.where(used, probabilities, 1.0).clamp(min=least.unsqueeze(-1))
    return torch.where(used, safe ** exponent.unsqueeze(-1), 0.0)


def _logs(probabilities: Tensor) -> Tensor:
    """Logarithms on the support and 0 elsewhere."""
    return torch.where(probabilities > 0, probabilities, 1.0).log()


def _pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    weights = _powers(probabilities, (2.0 - alpha).to(probabilities.dtype))
    if not weights.shape[-1]:
        return weights
    # Beyond alpha = 2 one weight may exceed all others by far, with the mean at its direction, so that differences
    # cancel: its direction is put to 0, and its change is what balances the others.
    place = weights.argmax(-1, keepdim=True)
    moves, others = direction - direction.gather(-1, place), weights.scatter(-1, place, 0.0)
    total = weights.gather(-1, place) + others.sum(-1, keepdim=True)
    mean = (others * moves).sum(-1, keepdim=True) / torch.where(total > 0, total, 1.0)
    changes = others * (moves - mean)
    return changes.scatter(-1, place, -changes.sum(-1, keepdim=True))


_OPERATOR = operator(
    "simplex",
    "pull",
    "(Tensor direction, Tensor probabilities, Tensor alpha) -> Tensor",
    _pull,
    lambda direction, probabilities, alpha: torch.empty_like(direction),
)
_FUNCTION = formula_function(_OPERATOR, _pull)


def entmax_pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """The Jacobian in the scores times a direction ``(rows, d)``."""
    # A compiled backward pass is never differentiated again, so that the bare operator will do.
    compute = _OPERATOR if torch.compiler.is_compiling() else _FUNCTION.Eager.apply
    return compute(direction, probabilities, alpha)  # type: ignore[no-any-return]


def entmax_sensitivity(probabilities: Tensor, alpha: Tensor) -> Tensor:
    """The derivative in alpha ``(rows, d)``.

    On the support ``(p ** b - 1) / b = x - tau`` with b = alpha - 1, so that a change of alpha moves p as a change
    of the scores by ``-d/db (p ** b - 1) / b`` would. That is ``-phi(b log p) (log p) ** 2``, where
    ``phi(u) = (u e^u - e^u + 1) / u ** 2`` is 1/2 at alpha = 1.
    """
    logs = _logs(probabilities)
    u = (alpha - 1.0).unsqueeze(-1).to(logs.dtype) * logs
    return entmax_pull(-_phi(u) * logs**2, probabilities, alpha)


def _phi(u: Tensor) -> Tensor:
    """``(u e^u - e^u + 1) / u ** 2`` for u up to 0: the sum of ``u ** k / (k! (k + 2))`` where that is small."""
    small = u.abs() < 0.5
    near, far = torch.where(small, u, 0.0), torch.where(small, -1.0, u)
    series, term = torch.zeros_like(near), torch.ones_like(near)
    for k in range(16):
        series, term = series + term / (k + 2), term * near / (k + 1)
    return torch.where(small, series, (far * far.exp() - far.expm1()) / far**2)


def _unnormalised(probabilities: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of normmax: w = p / norm of p, its total weight, and the slopes ``w ** (1 - b) / b`` of w in the scores."""
    powers = _powers(probabilities, alpha).sum(-1)
    norm = torch.where(powers > 0, powers, 1.0) ** (1.0 / alpha)
    weights = probabilities / norm.unsqueeze(-1)
    return weights, 1.0 / norm.unsqueeze(-1), _powers(weights, 2.0 - alpha) / (alpha - 1.0).unsqueeze(-1)


def normmax_pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """The Jacobian in the scores times a direction ``(rows, d)``: it moves w, from which its own mean is taken."""
    _, total, slopes = _unnormalised(probabilities, alpha.to(probabilities.dtype))
    change = slopes / total * (direction - (probabilities * direction).sum(-1, keepdim=True))
    return change - probabilities * change.sum(-1, keepdim=True)


def normmax_sensitivity(probabilities: Tensor, alpha: Tensor) -> Tensor:
    """The derivative in alpha ``(rows, d)``: that of ``w ** b = x - tau`` where the powers of alpha sum to one."""
    exponent = alpha.to(probabilities.dtype)
    weights, total, slopes = _unnormalised(probabilities, exponent)
    logs = _logs(weights)
    threshold = -(_powers(weights, exponent) * logs).sum(-1, keepdim=True) / (exponent.unsqueeze(-1) * total)
    change = -slopes / total * (threshold + _powers(weights, exponent - 1.0) * logs)
    return change - probabilities * change.sum(-1, keepdim=True)
