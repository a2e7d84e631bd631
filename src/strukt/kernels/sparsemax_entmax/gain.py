"""The gain of a point at the scores of a row, and its gradient. A loss is the difference of two gains.

    gain(x, p) = sum over the support of  p (x - centre - (p ** b - 1) / (b alpha))  with b = alpha - 1

is the expected score minus the negative entropy of Tsallis (1988), whose limit for large alpha is 0. The loss of a
target is the gain of the prediction minus that of the target (Blondel, Martins and Niculae 2020). Targets of
`residual` and `residual_product` are points, ``(rows, d)``, or classes, ``(rows,)`` of int64, which stand for
one-hot points.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Batched, call, call_backward, require_one_forward_mode
from strukt.kernels.functions import constant_function, formula_function
from strukt.kernels.operator import forward_of, operator
from strukt.kernels.sparsemax_entmax.derivatives import curve, mean_exp, phi


def _gain(scores: Tensor, points: Tensor, centres: Tensor, alpha: Tensor) -> Tensor:
    each, p = alpha.double(), points.double()
    exponent = each.unsqueeze(-1)
    above = torch.where(p != 0, scores.double() - centres.unsqueeze(-1), 0.0)
    logs, u = curve(p, torch.where(each < torch.inf, each, 1.0))
    return (p * (above - logs * mean_exp(u) / exponent)).sum(-1)


def _slope(points: Tensor, alpha: Tensor) -> Tensor:
    exponent = alpha.unsqueeze(-1).to(points.dtype)
    logs, u = curve(points, alpha)
    change = phi(u) * logs**2 - logs * mean_exp(u) / exponent
    return (points * change / exponent).sum(-1)


def _residual(scale: Tensor, points: Tensor, target: Tensor) -> Tensor:
    each = scale.unsqueeze(-1).to(points.dtype)
    if target.is_floating_point():
        return each * (points - target)
    return each * points.scatter_add(-1, target.unsqueeze(-1), -torch.ones_like(each))


def _rows(scores: Tensor, *_: Tensor) -> Tensor:
    return scores.new_empty(len(scores))


_GAIN = constant_function(
    operator(
        __package__,
        "gain",
        "(Tensor scores, Tensor points, Tensor centres, Tensor alpha) -> Tensor",
        _gain,
        lambda scores, *_: scores.new_empty(len(scores), dtype=torch.float64),
    )
)
_SLOPE = formula_function(
    operator(__package__, "slope", "(Tensor points, Tensor alpha) -> Tensor", _slope, _rows), _slope
)
_RESIDUAL = operator(
    __package__,
    "residual",
    "(Tensor scale, Tensor points, Tensor target) -> Tensor",
    _residual,
    lambda scale, points, target: torch.empty_like(points),
)


def gain(scores: Tensor, points: Tensor, centres: Tensor, alpha: Tensor) -> Tensor:
    """Return the gain ``(rows,)`` in float64, without derivatives; -inf if a point uses a forbidden score.

    Args:
        scores: ``(rows, d)``, -inf if forbidden.
        points: ``(rows, d)``.
        centres: ``(rows,)``, subtracted from the scores of each row.
        alpha: ``(rows,)``, above 0, inf for the expected score only.
    """
    detached = (value.detach() for value in (scores, points, centres, alpha))
    return call(_GAIN, *detached)  # type: ignore[no-any-return]


def slope(points: Tensor, alpha: Tensor) -> Tensor:
    """Return the derivative of each point's negative entropy with respect to its alpha, ``(rows,)``.

    The result is differentiable in both arguments.

    Args:
        points: ``(rows, d)``.
        alpha: ``(rows,)``.
    """
    return call(_SLOPE, points, alpha)  # type: ignore[no-any-return]


def residual_product(values: Tensor, direction: Tensor, target: Tensor) -> Tensor:
    """Return the inner product of each row of a direction with ``values - target``, ``(rows,)``.

    Values and directions are ``(rows, d)``, targets points or classes.
    """
    if target.is_floating_point():
        return (direction * (values - target)).sum(-1)
    return (direction * values).sum(-1) - direction.gather(-1, target.unsqueeze(-1)).squeeze(-1)


class _Residual(Batched):
    """Autograd function of `residual`."""

    forward = staticmethod(forward_of(_RESIDUAL))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, direction: Tensor) -> Any:
        scale, points, target = ctx.saved_tensors
        change = scale.unsqueeze(-1) * direction
        soft = target.is_floating_point()
        return residual_product(points, direction, target).to(scale.dtype), change, -change if soft else None


class _EagerResidual(_Residual):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        require_one_forward_mode()
        scale, points, target = ctx.saved_tensors
        change, move, shift = tangents
        result = torch.zeros_like(points) if move is None else scale.unsqueeze(-1) * move
        result = result if shift is None else result - scale.unsqueeze(-1) * shift
        return result if change is None else result + call(_Residual, change, points, target)


_Residual.Eager = _EagerResidual


def residual(scale: Tensor, points: Tensor, target: Tensor) -> Tensor:
    """Return ``scale (points - target)``, ``(rows, d)``, for a scale ``(rows,)``; targets are points or classes.

    The result is differentiable in all arguments but classes.
    """
    return call_backward(_Residual, scale, points, target)  # type: ignore[no-any-return]
