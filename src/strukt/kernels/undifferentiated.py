"""Calls of functions on plain tensors, without autograd or ``torch.func``, for searches without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from strukt.kernels.arrays import Floats

MAPPED = (
    "vmap cannot map the scores of SparseMAP, of samples without replacement, of a surrogate gradient or of a "
    "factor graph; give them a batch axis in front instead"
)
"""The text of errors for arguments that `torch.func.vmap` maps."""


def undifferentiated(function: Callable[..., tuple[Tensor, ...]], *arguments: Tensor) -> tuple[Tensor, ...]:
    """Call ``function(*arguments)`` on plain tensors; the results are not differentiable.

    Raises:
        NotImplementedError: If an argument is mapped by `torch.func.vmap`.
    """
    return _Run.apply(function, *arguments)  # type: ignore[no-any-return, no-untyped-call]


def carries_derivative(value: Tensor) -> bool:
    """Return True if a tensor may be part of a derivative, in reverse or forward mode or under ``torch.func``."""
    if value.requires_grad or torch._C._functorch.is_functorch_wrapped_tensor(value):
        return True
    inside = forward_ad._current_level >= 0
    return inside and forward_ad.unpack_dual(value).tangent is not None  # type: ignore[no-untyped-call]


def may_differentiate() -> bool:
    """Return True unless gradients are switched off, as by ``torch.no_grad``, outside forward mode.

    ``torch.no_grad`` does not switch off forward mode.
    """
    return torch.is_grad_enabled() or forward_ad._current_level >= 0


def plain(value: Tensor) -> Tensor:
    """Return a tensor without any wrappers of ``torch.func``.

    Raises:
        NotImplementedError: If the tensor is mapped by `torch.func.vmap`.
    """
    functorch = torch._C._functorch
    value = value.detach()  # under torch.func, this is still a wrapped tensor
    while functorch.is_functorch_wrapped_tensor(value):
        if functorch.is_batchedtensor(value):
            raise NotImplementedError(MAPPED)
        value = functorch.get_unwrapped(value)
    return value


def longest(lengths: Tensor) -> int:
    """Return the largest of some lengths; if `torch.func.vmap` maps them, the largest over the mapped axis, too.

    Lengths may be mapped although the user's are not: an item whose cross-entropy is infinite has the length 0 in
    its derivatives.
    """
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(lengths):
        lengths = functorch.get_unwrapped(lengths)
    with torch._C._DisableFuncTorch():
        return int(lengths.max())


def numpy_of(value: Tensor) -> Floats:
    """Return a tensor as a NumPy array in double precision.

    Raises:
        NotImplementedError: If the tensor is mapped by `torch.func.vmap`.
    """
    value = plain(value)
    with torch._C._DisableFuncTorch():
        result: Floats = value.double().cpu().contiguous().numpy()
    return result


class _Run(torch.autograd.Function):
    """Autograd function of an operation without derivatives."""

    @staticmethod
    def forward(function: Callable[..., tuple[Tensor, ...]], *arguments: Tensor) -> tuple[Tensor, ...]:
        return function(*(argument.detach() for argument in arguments))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output)
        ctx.inputs, ctx.outputs = len(inputs), len(output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None,) * ctx.inputs

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return (None,) * ctx.outputs

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
        if any(axis is not None for axis in in_dims):
            raise NotImplementedError(MAPPED)
        result = _Run.apply(*arguments)  # type: ignore[no-untyped-call]
        return result, (None,) * len(result)
