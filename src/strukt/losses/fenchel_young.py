"""What all Fenchel-Young losses have in common (Blondel, Martins and Niculae 2020).

    L(x; y) = max over p of (<x, p> - Omega(p)) + Omega(y) - <x, y>

The loss is convex, not negative, and 0 where the prediction is the target; its gradient in the scores is the
prediction less the target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from strukt.kernels.autograd import call, over_batch


class _Loss(torch.autograd.Function):
    """Values whose gradients are given beside them, and are differentiated in their place."""

    Eager: ClassVar[Any]

    @staticmethod
    def forward(*arguments: Tensor) -> Tensor:
        """The first of ``value, scores, residual, parameter, slope``."""
        return arguments[0].clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004
        ctx.save_for_backward(inputs[2], inputs[4])
        ctx.save_for_forward(inputs[2], inputs[4])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        residual, slope = ctx.saved_tensors
        return None, grad.unsqueeze(-1) * residual, None, grad * slope, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, int]:
        return over_batch(_Loss, info, in_dims, arguments)


class _Eager(_Loss):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        residual, slope = ctx.saved_tensors
        _, move, _, change, _ = tangents
        found = torch.zeros_like(slope) if move is None else (move * residual).sum(-1)
        return found if change is None else found + change * slope


_Loss.Eager = _Eager


def loss(
    scores: Tensor,
    prediction: Tensor,
    target: Tensor,
    regulariser: Callable[[Tensor, Tensor], Tensor],
    parameter: Tensor,
    constant: bool = False,
) -> Tensor:
    """The losses of rows ``(rows, d)``.

    Args:
        scores: -inf where the prediction must be 0; a target there makes the loss infinite.
        prediction: What the mapping gives, differentiable in the scores and the parameter.
        target: The point that the prediction should be.
        regulariser: ``regulariser(points, parameter)`` gives Omega ``(rows,)``.
        parameter: Of the regulariser, ``(rows,)``; differentiable.
        constant: Whether nobody will ask for the derivative in the parameter, which takes long.

    Returns:
        ``(rows,)``, differentiable any number of times.
    """
    fixed, given, each = prediction.detach(), scores.detach(), parameter.detach()
    product = torch.where(fixed == target, 0.0, given * (fixed - target)).sum(-1)
    value = (product - regulariser(fixed, each) + regulariser(target, each)).clamp(min=0.0)

    if constant:
        slope = torch.zeros_like(value)
        return call(_Loss, value.detach(), scores, prediction - target, parameter, slope)  # type: ignore[no-any-return]

    def surplus(each: Tensor) -> Tensor:
        return regulariser(target, each) - regulariser(prediction, each)

    (slope,) = torch.func.vjp(surplus, parameter)[1](torch.ones_like(value))
    return call(_Loss, value.detach(), scores, prediction - target, parameter, slope)  # type: ignore[no-any-return]
