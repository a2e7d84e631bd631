"""The loss of entmax for a class of each row, without a dense target: its value and its gradient, both fused.

    L(x, c) = sum over the support of  p (x - x_c - (p ** b - 1) / (b alpha))  with b = alpha - 1

which is the Fenchel-Young loss with the target's own regulariser, 0, left out (Blondel, Martins and Niculae 2020).
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from strukt.kernels.autograd import call, over_batch
from strukt.kernels.operator import operator


def _value(scores: Tensor, probabilities: Tensor, classes: Tensor, alpha: Tensor) -> Tensor:
    places, used = classes.unsqueeze(-1), probabilities != 0
    own, exponent = scores.gather(-1, places), alpha.unsqueeze(-1).to(scores.dtype)
    b = exponent - 1.0
    curved, logs = torch.where(b > 0, b, 1.0), torch.where(used, probabilities, 1.0).log()
    deformed = torch.where(b > 0, torch.expm1(curved * logs) / curved, logs)
    terms = probabilities * (torch.where(used, scores - own, 0.0) - deformed / exponent)
    forbidden = (own == -torch.inf) & (probabilities.gather(-1, places) == 0)
    return torch.where(forbidden.squeeze(-1), torch.inf, terms.sum(-1))


def _residual(scale: Tensor, probabilities: Tensor, classes: Tensor) -> Tensor:
    less = torch.full_like(scale, -1.0).unsqueeze(-1).to(probabilities.dtype)
    return scale.unsqueeze(-1) * probabilities.scatter_add(-1, classes.unsqueeze(-1), less)


_VALUE = operator(
    "simplex",
    "class_loss",
    "(Tensor scores, Tensor probabilities, Tensor classes, Tensor alpha) -> Tensor",
    _value,
    lambda scores, probabilities, classes, alpha: scores.new_empty(len(scores)),
)
_RESIDUAL = operator(
    "simplex",
    "class_residual",
    "(Tensor scale, Tensor probabilities, Tensor classes) -> Tensor",
    _residual,
    lambda scale, probabilities, classes: torch.empty_like(probabilities),
)


def _against(direction: Tensor, probabilities: Tensor, classes: Tensor) -> Tensor:
    """The product of each row of a direction with probabilities less 1 at the class, ``(rows,)``."""
    return (direction * probabilities).sum(-1) - direction.gather(-1, classes.unsqueeze(-1)).squeeze(-1)


class _Residual(torch.autograd.Function):
    """``scale (p - target)``."""

    Eager: ClassVar[Any]

    @staticmethod
    def forward(scale: Tensor, probabilities: Tensor, classes: Tensor) -> Tensor:
        return _RESIDUAL(scale, probabilities, classes)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, direction: Tensor) -> Any:
        scale, probabilities, classes = ctx.saved_tensors
        return _against(direction, probabilities, classes), scale.unsqueeze(-1) * direction, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, int]:
        return over_batch(_Residual, info, in_dims, arguments)


class _EagerResidual(_Residual):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        scale, probabilities, classes = ctx.saved_tensors
        change, move, _ = tangents
        found = torch.zeros_like(probabilities) if move is None else scale.unsqueeze(-1) * move
        return found if change is None else found + call(_Residual, change, probabilities, classes)


_Residual.Eager = _EagerResidual


class _Loss(torch.autograd.Function):
    """The loss ``(rows,)`` of ``scores, probabilities, classes, alpha``.

    It is differentiated in the scores alone; the probabilities, which depend on them, are the derivative's own.
    """

    Eager: ClassVar[Any]

    @staticmethod
    def forward(scores: Tensor, probabilities: Tensor, classes: Tensor, alpha: Tensor) -> Tensor:
        return _VALUE(scores, probabilities, classes, alpha)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[1:3])
        ctx.save_for_forward(*inputs[1:3])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        # A compiled backward pass is never differentiated again, so that the bare operator will do.
        compute = _RESIDUAL if torch.compiler.is_compiling() else _EagerResidual.apply
        return compute(grad, *ctx.saved_tensors), None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, int]:
        return over_batch(_Loss, info, in_dims, arguments)


class _EagerLoss(_Loss):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        probabilities, classes = ctx.saved_tensors
        move = tangents[0]
        return (
            probabilities.new_zeros(len(probabilities))
            if move is None
            else _against(move, probabilities, classes)
        )


_Loss.Eager = _EagerLoss


def class_loss(scores: Tensor, probabilities: Tensor, classes: Tensor, alpha: Tensor) -> Tensor:
    """The loss ``(rows,)`` of entmax, differentiable in the scores any number of times, for a constant alpha.

    Args:
        scores: ``(rows, d)``.
        probabilities: What entmax gives for them, differentiable in them.
        classes: ``(rows,)``, the target of each row.
        alpha: ``(rows,)``, a constant.
    """
    return call(_Loss, scores, probabilities, classes, alpha)  # type: ignore[no-any-return]
