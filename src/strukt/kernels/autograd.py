"""The derivatives, batching rules and traces of operators, for autograd, ``torch.func`` and ``torch.compile``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd import forward_ad

Scores = tuple[Tensor, ...]
"""The tensors of part scores of a structure, or others in their shapes."""


def as_tuple(result: Any) -> Scores:
    """Return a tuple unchanged, and anything else as the only entry of a tuple."""
    return result if isinstance(result, tuple) else (result,)


def alone(results: Scores) -> Tensor | Scores:
    """Return the entry of a tuple with only one, and any other tuple unchanged: the inverse of `as_tuple`."""
    return results if len(results) > 1 else results[0]


def is_plain() -> bool:
    """Return True in plain eager mode: no ``torch.func``, no forward mode, no tracing."""
    if torch.compiler.is_compiling():  # first: the rest must not be traced
        return False
    return not (
        torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
        or torch._C._len_torch_dispatch_stack()
        or torch._C._len_torch_function_stack()
    )


def is_transformed(tensor: Tensor) -> bool:
    """Return True under ``torch.func``, or if the tensor has a tangent of forward mode."""
    if torch._C._are_functorch_transforms_active():
        return True
    return forward_ad.unpack_dual(tensor).tangent is not None  # type: ignore[no-untyped-call]


def require_one_forward_mode() -> None:
    """Check that the call is inside at most one forward mode of ``torch.func``, such as `torch.func.jvp`.

    PyTorch switches forward mode off inside the ``jvp`` of an autograd function, so an outer forward mode would
    silently miss the derivatives of its tensor operations. Those of further autograd functions are kept.

    Raises:
        NotImplementedError: If it is inside several.
    """
    stack = torch._C._functorch.get_interpreter_stack() or ()
    if sum(each.key() == torch._C._functorch.TransformType.Jvp for each in stack) > 1:
        raise NotImplementedError(
            "this derivative in forward mode has no forward mode itself; use torch.func.hessian, or the jvp of a "
            "grad, in place of the jvp of a jvp or the jacfwd of a jacfwd"
        )


def asks_for_gradient(tensors: Iterable[Any]) -> bool:
    """Return True if a backward pass may go through a function of these arguments."""
    return torch.is_grad_enabled() and any(
        isinstance(value, Tensor) and value.requires_grad for value in tensors
    )


def call(function: Any, *arguments: Any) -> Any:
    """Apply a `Batched` function in the cheapest form that the context allows.

    In plain eager mode (see `is_plain`), the form is ``Plain`` if a gradient is needed, else ``direct``. Both save
    the 40 microseconds that PyTorch takes for a function with ``setup_context``. While ``torch.compile`` traces,
    it is the function itself, because the compiler rejects the forward mode of ``Eager``. Otherwise it is
    ``Eager``.
    """
    if is_plain():
        return function.Plain.apply(*arguments) if asks_for_gradient(arguments) else function.direct(*arguments)
    if torch.compiler.is_compiling():
        return function.apply(*_distinct(arguments))
    return function.Eager.apply(*arguments)


def differentiable_gradients(
    values: Tensor | Sequence[Tensor], inputs: Sequence[Tensor], grads: Tensor | Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """Return the gradients of values with respect to inputs, None for those that need none.

    They are differentiable if the backward pass creates a graph. The values must be computed with gradients
    enabled.
    """
    leaves = [value for value in inputs if value.requires_grad]
    again = torch.is_grad_enabled()
    result = iter(torch.autograd.grad(values, leaves, grads, create_graph=again, allow_unused=True))
    return tuple(next(result) if value.requires_grad else None for value in inputs)


def _distinct(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy a tensor that is also an earlier argument, such as one size that is both the smallest and the largest.

    ``torch.compile`` rejects a tensor for two arguments of a function with a gradient.
    """
    return tuple(
        value.clone() if isinstance(value, Tensor) and any(value is one for one in arguments[:place]) else value
        for place, value in enumerate(arguments)
    )


def call_backward(function: Any, *arguments: Any) -> Any:
    """Apply a `Batched` function in the backward pass of another function.

    A compiled backward pass is never differentiated again, so the bare operator suffices. PyTorch itself loops
    over batched gradients (``is_grads_batched``), except where they are differentiated again (``create_graph``).
    """
    if torch.compiler.is_compiling():  # first: the rest must not be traced
        return function.forward(*arguments)
    if not any(map(is_batched, arguments)):
        return call(function, *arguments)
    return _mapped(function, arguments) if asks_for_gradient(arguments) else function.forward(*arguments)


def _mapped(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Apply a function to each gradient of a batch by `torch.func.vmap`, whose results have derivatives."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    axes = tuple(0 if is_batched(value) else None for value in arguments)
    whole = (
        value if axis is None else torch._remove_batch_dim(value, level, 1, 0)
        for value, axis in zip(arguments, axes, strict=True)
    )
    result = torch.func.vmap(lambda *each: call(function, *each), axes)(*whole)
    if isinstance(result, Tensor):
        return torch._add_batch_dim(result, 0, level)
    return tuple(torch._add_batch_dim(part, 0, level) for part in result)


def is_batched(grad: Any) -> bool:
    """Return True if a gradient in a backward pass is a batch of gradients (``is_grads_batched=True``)."""
    return isinstance(grad, Tensor) and torch._C._functorch.is_legacy_batchedtensor(grad)


def keep(context: Any, inputs: tuple[Any, ...], *more: Tensor) -> None:
    """Save the tensors among ``inputs`` and ``more`` for derivatives; other inputs become ``context.options``."""
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    context.options = tuple(value for value in inputs if not isinstance(value, Tensor))
    context.save_for_backward(*tensors, *more)
    context.save_for_forward(*tensors, *more)


def over_batch(
    function: Any, info: Any, in_dims: tuple[Any, ...], arguments: tuple[Any, ...]
) -> tuple[Any, Any]:
    """Apply a `Batched` function under `torch.func.vmap`: the mapped axis joins the batch axis.

    If the mapped axis has size 0, the function is applied to one entry of zeros, to learn the shape of its result.
    """
    items = info.batch_size
    size = max(items, 1)

    def join(value: Any, axis: int | None) -> Any:
        if not isinstance(value, Tensor):
            return value
        value = value.expand(size, *value.shape) if axis is None else value.movedim(axis, 0)
        if len(value) < size:
            value = torch.cat([value, value.new_zeros(size, *value.shape[1:])])
        return value.reshape(size * value.shape[1], *value.shape[2:]).contiguous()

    def split(value: Tensor) -> Tensor:
        return value.reshape(size, value.shape[0] // size, *value.shape[1:])[:items]

    result = call(function, *(join(value, axis) for value, axis in zip(arguments, in_dims, strict=True)))
    if isinstance(result, Tensor):
        return split(result), 0
    return tuple(map(split, result)), (0,) * len(result)


class Batched(torch.autograd.Function):
    """A function of tensors whose first axis is the batch.

    `call` chooses between its forms: ``Eager`` is a subclass with a forward mode, ``Plain`` a version that
    works in plain eager mode only, and ``direct`` its ``forward`` without PyTorch's dispatcher.
    """

    Eager: ClassVar[Any]
    Plain: ClassVar[Any]
    direct: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls) -> None:
        if "forward" in cls.__dict__:
            cls.direct = staticmethod(getattr(cls.forward, "body", cls.forward))
        cls.Plain = type(f"{cls.__name__}Plain", (WithoutTransforms,), {"whole": cls})

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
        return over_batch(cls, info, in_dims, arguments)


class WithoutTransforms(torch.autograd.Function):
    """A faster version of ``whole`` without a ``setup_context`` of its own, which ``torch.func`` would need."""

    whole: ClassVar[Any]

    @classmethod
    def forward(cls, ctx: Any, *arguments: Any) -> Any:
        output = cls.whole.direct(*arguments)
        cls.whole.setup_context(ctx, arguments, output)
        return output

    @classmethod
    def backward(cls, ctx: Any, *grads: Any) -> Any:
        return cls.whole.backward(ctx, *grads)


def filled(tangents: Sequence[Any], primals: Sequence[Tensor]) -> Scores:
    """Return the tangents, with zeros in place of those that autograd omits (None)."""
    return tuple(
        torch.zeros_like(primal) if tangent is None else tangent
        for tangent, primal in zip(tangents, primals, strict=False)
    )
