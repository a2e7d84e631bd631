"""The common form of Fenchel-Young losses (Blondel, Martins and Niculae 2020).

    L(x; y) = max over p of (<x, p> - Omega(p)) + Omega(y) - <x, y>

The loss is convex, never negative, and 0 if the prediction equals the target. Its gradient with respect to the
scores is the prediction minus the target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import sparsemax_entmax
from strukt.kernels.autograd import Batched, call, require_one_forward_mode
from strukt.kernels.semiring import finite

Extra = Callable[[Tensor, Tensor], Tensor]
"""An extra term of Omega: a function of points ``(rows, d)`` and the parameter ``(rows,)`` to ``(rows,)``."""


class _Loss(Batched):
    """Autograd function of losses with known gradients: ``prediction - target``; ``slope`` for the parameter."""

    @staticmethod
    def forward(*arguments: Tensor) -> Tensor:
        """Return ``value``, the first of ``value, scores, prediction, target, parameter, slope``."""
        return arguments[0].clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004
        ctx.save_for_backward(inputs[2], inputs[3], inputs[5])
        ctx.save_for_forward(inputs[2], inputs[3], inputs[5])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        prediction, target, slope = ctx.saved_tensors
        return None, sparsemax_entmax.residual(grad, prediction, target), None, None, grad * slope, None


class _Eager(_Loss):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        require_one_forward_mode()
        prediction, target, slope = ctx.saved_tensors
        move, change = tangents[1], tangents[4]
        result = torch.zeros_like(slope)
        if move is not None:
            result = sparsemax_entmax.residual_product(prediction, move, target)
        return result if change is None else result + change * slope


_Loss.Eager = _Eager


def loss(
    scores: Tensor,
    prediction: Tensor,
    target: Tensor,
    parameter: Tensor,
    alpha: Tensor | None = None,
    extra: Extra | None = None,
    constant: bool = False,
    on_simplex: bool = True,
) -> Tensor:
    """Return the Fenchel-Young loss of each row, ``(rows,)``.

    Omega is the negative Tsallis entropy with exponent alpha, plus an extra term that depends on the parameter.

    Args:
        scores: ``(rows, d)``, d scores in each row; -inf where the prediction must be 0. A positive target there
            has an infinite loss.
        prediction: ``(rows, d)``, the result of the mapping, differentiable in the scores and the parameter.
        target: ``(rows, d)``, the target points; or ``(rows,)``, target classes, if there is no extra term.
        parameter: ``(rows,)``, the parameter of the regulariser; differentiable.
        alpha: ``(rows,)``, the exponent, a constant; by default the parameter.
        extra: The extra term of Omega, a function of points ``(rows, d)`` and the parameter; None for no such
            term.
        constant: Whether the parameter is a constant that needs no gradient.
        on_simplex: Whether predictions sum to 1 if a score is above -inf.

    Returns:
        ``(rows,)``, differentiable any number of times in the scores and the parameter.
    """
    plain, each = scores.detach(), parameter.detach()
    alphas = (each if alpha is None else alpha).double()
    if target.is_floating_point():
        # Common offsets of the scores do not multiply the rounding errors of predictions that sum to 1.
        centres = _largest(plain) if on_simplex else plain.new_zeros(len(plain))
        lacking = 1.0 - target.sum(-1, dtype=torch.float64) if on_simplex else 0.0
        target_gain = sparsemax_entmax.gain(plain, target, centres, alphas) - centres * lacking
    else:
        target_score = plain.gather(-1, target.unsqueeze(-1)).squeeze(-1)
        centres = torch.where(target_score > -torch.inf, target_score, 0.0)
        target_gain = target_score - centres
    value = sparsemax_entmax.gain(plain, prediction, centres, alphas) - target_gain
    if extra is not None:
        value = value + extra(target, each) - extra(prediction.detach(), each)
    value = value.clamp(min=0.0).to(scores.dtype)
    slope = torch.zeros_like(value) if constant else _slope(prediction, target, parameter, extra)
    return call(_Loss, value, scores, prediction, target, parameter, slope)  # type: ignore[no-any-return]


def _largest(scores: Tensor) -> Tensor:
    """Return the largest score of each row; 0 if it has none above -inf."""
    if not scores.shape[-1]:
        return scores.sum(-1)
    return finite(scores.amax(-1))


def _slope(prediction: Tensor, target: Tensor, parameter: Tensor, extra: Extra | None) -> Tensor:
    """Return the derivative of the loss with respect to the parameter at a fixed prediction, ``(rows,)``."""
    if extra is not None:

        def surplus(each: Tensor) -> Tensor:
            return extra(target, each) - extra(prediction, each)

        value, pull, *_ = torch.func.vjp(surplus, parameter)
        return pull(torch.ones_like(value))[0]  # type: ignore[no-any-return]
    slope = -sparsemax_entmax.slope(prediction, parameter)
    return slope + sparsemax_entmax.slope(target, parameter) if target.is_floating_point() else slope
