"""Implicit gradients of the fixed point of an update, in the memory of one update (Bai et al. 2019)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

MAX_ITERATIONS = 1000
"""The maximum number of iterations that compute an implicit gradient."""


def fixed_point(point: Tensor, update: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the fixed point p = f(p) of an update f with its derivative dp = (1 - df/dp)^-1 df.

    It has no second derivative: computing one raises RuntimeError.

    Args:
        point: The fixed point, without a gradient. Derivatives in forward mode are kept.
        update: The update f.

    Raises:
        NotImplementedError: If a gradient is required under ``torch.func``.

    Warns:
        UserWarning: In the backward pass, if the gradient does not converge.
    """
    result = update(point)
    if not result.requires_grad:
        return result
    if torch._C._are_functorch_transforms_active():
        raise NotImplementedError(
            "implicit gradients of mean_field do not work under torch.func.grad, vjp, jacrev, hessian or vmap; "
            "use gradients='unrolled', or torch.autograd.grad"
        )
    leaf = point.detach().requires_grad_()
    again = update(leaf)
    if not again.requires_grad:
        return result
    exact = 10 * torch.finfo(point.dtype).eps

    def pulled(grad: Tensor) -> Tensor:
        """Return (1 - df/dp)^-T grad, the gradient with respect to the result of the last update."""
        total, change = grad, grad.new_tensor(torch.inf)
        for _ in range(MAX_ITERATIONS):
            (back,) = torch.autograd.grad(again, leaf, total, retain_graph=True)
            total, change = grad + back, (grad + back - total).abs().max()
            if not bool(change.isfinite()):
                total = grad  # the fixed point is unstable: keep the gradient of the last update only
                break
            if bool(change <= exact * total.abs().max()):
                return total
        warnings.warn(
            f"the implicit gradient of mean_field is off by {change.item():.2g} after "
            f"{MAX_ITERATIONS} iterations at most",
            stacklevel=2,
        )
        return total

    return _FixedPoint.apply(result, pulled)  # type: ignore[no-any-return, no-untyped-call]


class _FixedPoint(Function):
    """Autograd function of a fixed point that passes the gradient ``pulled(grad)`` on to its last update."""

    @staticmethod
    def forward(ctx: Any, result: Tensor, pulled: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.pulled = pulled
        ctx.save_for_backward(result)
        return result.clone()

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> Tensor:  # noqa: ARG004
        return tangent.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (result,) = ctx.saved_tensors
        return _Once.apply(ctx.pulled(grad.detach()), result, grad), None  # type: ignore[no-untyped-call]


class _Once(Function):
    """Autograd function of a gradient that is not differentiable: its own backward pass raises an error.

    PyTorch's `once_differentiable` raises one only if the incoming gradient itself requires a gradient.
    """

    @staticmethod
    def forward(ctx: Any, value: Tensor, result: Tensor, grad: Tensor) -> Tensor:  # noqa: ARG004
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # noqa: ARG004
        raise RuntimeError(
            "the implicit gradient of mean_field has no second derivative; use gradients='unrolled' if second "
            "derivatives are needed"
        )
