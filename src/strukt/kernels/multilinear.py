"""Derivatives of multilinear forms, which are multilinear themselves.

The derivative of a form with respect to one argument is a function of the others, and is linear in each. Its own
derivatives, times a direction, are derivatives of the form with that direction in place of the missing argument.
So one function for each argument suffices for derivatives of any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Derivatives = Sequence[Callable[..., Tensor]]
"""The derivative with respect to each argument, as a function of the other arguments and a constant."""


def derivative(form: Derivatives, missing: int, others: Sequence[Tensor], constant: Any) -> Tensor:
    """Return the derivative of a form with respect to one argument, differentiable any number of times.

    Args:
        form: The form, given by its derivatives.
        missing: The index of the argument with respect to which to differentiate.
        others: The other arguments, in their order.
        constant: The last argument of all functions of the form, which has no derivative.
    """
    result: Tensor = _Derivative.apply(form, missing, constant, *others)  # type: ignore[no-untyped-call]
    return result


class _Derivative(torch.autograd.Function):
    """Autograd function of `derivative`."""

    @staticmethod
    def forward(form: Derivatives, missing: int, constant: Any, *others: Tensor) -> Tensor:
        return form[missing](*others, constant)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        del output
        ctx.form, ctx.missing, ctx.constant, *others = inputs
        ctx.save_for_backward(*others)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        others = ctx.saved_tensors
        whole = [*others[: ctx.missing], grad, *others[ctx.missing :]]
        result: list[Tensor | None] = []
        for place, requested in enumerate(ctx.needs_input_grad[3:]):
            number = place + (place >= ctx.missing)
            rest = whole[:number] + whole[number + 1 :]
            result.append(derivative(ctx.form, number, rest, ctx.constant) if requested else None)
        return (None, None, None, *result)
