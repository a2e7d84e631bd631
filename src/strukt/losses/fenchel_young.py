"""What all Fenchel-Young losses have in common (Blondel, Martins and Niculae 2020).

    L(x; y) = max over p of (<x, p> - Omega(p)) + Omega(y) - <x, y>

The loss is convex, not negative, and 0 where the prediction is the target; its gradient in the scores is the
prediction less the target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import simplex
from strukt.kernels.autograd import Batched, call

Extra = Callable[[Tensor, Tensor], Tensor]


class _Loss(Batched):
    """Values whose gradients are known: ``prediction - target`` in the scores, a slope in the parameter."""

    @staticmethod
    def forward(*arguments: Tensor) -> Tensor:
        """The first of ``value, scores, prediction, target, parameter, slope``."""
        return arguments[0].clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004
        ctx.save_for_backward(inputs[2], inputs[3], inputs[5])
        ctx.save_for_forward(inputs[2], inputs[3], inputs[5])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        prediction, target, slope = ctx.saved_tensors
        return None, simplex.residual(grad, prediction, target), None, None, grad * slope, None


class _Eager(_Loss):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        prediction, target, slope = ctx.saved_tensors
        move, change = tangents[1], tangents[4]
        found = torch.zeros_like(slope) if move is None else simplex.less(prediction, move, target)
        return found if change is None else found + change * slope


_Loss.Eager = _Eager


def loss(
    scores: Tensor,
    prediction: Tensor,
    target: Tensor,
    parameter: Tensor,
    alpha: Tensor | None = None,
    extra: Extra | None = None,
    constant: bool = False,
) -> Tensor:
    """The losses of rows ``(rows, d)``.

    Omega is the negative entropy of Tsallis for alpha, plus something that depends on the parameter.

    Args:
        scores: -inf where the prediction must be 0; a target there makes the loss infinite.
        prediction: What the mapping gives, differentiable in the scores and the parameter.
        target: The point that the prediction should be, or where there is nothing extra its class, ``(rows,)``.
        parameter: Of the regulariser, ``(rows,)``; differentiable.
        alpha: ``(rows,)``, constant; None if it is the parameter.
        extra: ``extra(points, parameter)`` gives what Omega has beside, ``(rows,)``; 0 by default.
        constant: Whether nobody will ask for the derivative in the parameter.

    Returns:
        ``(rows,)``, differentiable any number of times.
    """
    given, each = scores.detach(), parameter.detach()
    alphas = (each if alpha is None else alpha).double()
    if target.is_floating_point():
        centres = torch.zeros_like(given[..., 0])
        wanted = simplex.gain(given, target, centres, alphas)
    else:
        own = given.gather(-1, target.unsqueeze(-1)).squeeze(-1)
        centres = torch.where(own > -torch.inf, own, 0.0)
        wanted = own - centres
    value = simplex.gain(given, prediction, centres, alphas) - wanted
    if extra is not None:
        value = value + extra(target, each) - extra(prediction.detach(), each)
    value = value.clamp(min=0.0).to(scores.dtype)
    found = torch.zeros_like(value) if constant else _slope(prediction, target, parameter, extra)
    return call(_Loss, value, scores, prediction, target, parameter, found)  # type: ignore[no-any-return]


def _slope(prediction: Tensor, target: Tensor, parameter: Tensor, extra: Extra | None) -> Tensor:
    """The derivative of the loss in the parameter while the prediction stays."""
    if extra is not None:

        def surplus(each: Tensor) -> Tensor:
            return extra(target, each) - extra(prediction, each)

        value, pull, *_ = torch.func.vjp(surplus, parameter)
        return pull(torch.ones_like(value))[0]  # type: ignore[no-any-return]
    slope = -simplex.slope(prediction, parameter)
    return slope + simplex.slope(target, parameter) if target.is_floating_point() else slope
