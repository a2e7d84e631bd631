"""What autograd, ``torch.func`` and ``torch.compile`` need to know of an operator of `strukt.kernels.oracles`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd import forward_ad

from strukt.kernels.operator import body_of

Scores = tuple[Tensor, ...]


def as_tuple(result: Any) -> Scores:
    return result if isinstance(result, tuple) else (result,)


def is_plain() -> bool:
    """Whether PyTorch runs operations as they come: no ``torch.func``, no forward mode, no tracing around them."""
    if torch.compiler.is_compiling():  # first: a trace must not meet what follows
        return False
    return not (
        torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
        or torch._C._len_torch_dispatch_stack()
        or torch._C._len_torch_function_stack()
    )


def asks_for_gradient(tensors: Iterable[Any]) -> bool:
    """Whether a backward pass may go through what is computed from these arguments."""
    return torch.is_grad_enabled() and any(
        isinstance(value, Tensor) and value.requires_grad for value in tensors
    )


def call(function: Any, *arguments: Any) -> Any:
    """Apply one of the functions below in the cheapest form that the caller's circumstances allow.

    ``torch.compile`` declines the forward mode of ``Eager``. Its separate context costs 40 microseconds, which
    `is_plain` code saves by ``Plain``, and code that nobody differentiates by the bare operator.
    """
    if is_plain():
        return function.Plain.apply(*arguments) if asks_for_gradient(arguments) else function.direct(*arguments)
    if torch.compiler.is_compiling():
        return function.apply(*_distinct(arguments))
    return function.Eager.apply(*arguments)


def differentiable_gradients(
    values: Tensor | Sequence[Tensor], inputs: Sequence[Tensor], grads: Tensor | Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """Return the gradients of values in inputs, None for those that need none.

    They can be differentiated themselves where the backward pass asks for that. The values are computed with
    gradients enabled.
    """
    wanted = [value for value in inputs if value.requires_grad]
    again = torch.is_grad_enabled()
    found = iter(torch.autograd.grad(values, wanted, grads, create_graph=again, allow_unused=True))
    return tuple(next(found) if value.requires_grad else None for value in inputs)


def _distinct(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy tensors that are given again, such as a size as the smallest and the largest one.

    ``torch.compile`` takes no tensor for two arguments of a function with a gradient.
    """
    return tuple(
        value.clone() if isinstance(value, Tensor) and any(value is one for one in arguments[:place]) else value
        for place, value in enumerate(arguments)
    )


def call_backward(function: Any, *arguments: Any) -> Any:
    """Apply one of the functions below in the backward pass of another one.

    A compiled backward pass is never differentiated again, so that the bare operator will do. PyTorch itself
    goes through the rows of gradients that come in batches (``is_grads_batched``).
    """
    if torch.compiler.is_compiling() or any(map(is_batched, arguments)):
        return function.forward(*arguments)
    return call(function, *arguments)


def is_batched(grad: Any) -> bool:
    """Whether a gradient in a backward pass stands for several, as by ``is_grads_batched=True``."""
    return isinstance(grad, Tensor) and torch._C._functorch.is_legacy_batchedtensor(grad)


def keep(context: Any, inputs: tuple[Any, ...], *more: Tensor) -> None:
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    context.options = tuple(value for value in inputs if not isinstance(value, Tensor))
    context.save_for_backward(*tensors, *more)
    context.save_for_forward(*tensors, *more)


def over_batch(
    function: Any, info: Any, in_dims: tuple[Any, ...], arguments: tuple[Any, ...]
) -> tuple[Any, Any]:
    """The vmap rule of every operator: the mapped axis joins the batch axis."""
    size = info.batch_size

    def join(value: Any, axis: int | None) -> Any:
        if not isinstance(value, Tensor):
            return value
        value = value.expand(size, *value.shape) if axis is None else value.movedim(axis, 0)
        return value.reshape(size * value.shape[1], *value.shape[2:]).contiguous()

    result = call(function, *(join(value, axis) for value, axis in zip(arguments, in_dims, strict=True)))
    if isinstance(result, Tensor):
        return _split(result, size), 0
    parts = tuple(_split(part, size) for part in result)
    return parts, (0,) * len(parts)


def _split(value: Tensor, size: int) -> Tensor:
    return value.reshape(size, value.shape[0] // size, *value.shape[1:])


class Batched(torch.autograd.Function):
    """A function of tensors whose first axis is the batch.

    ``Eager`` is its subclass with a forward mode, ``Plain`` the same for `is_plain` code alone, and ``direct`` its
    ``forward`` without PyTorch's dispatcher.
    """

    Eager: ClassVar[Any]
    Plain: ClassVar[Any]
    direct: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls) -> None:
        if "forward" in cls.__dict__:
            cls.direct = staticmethod(getattr(cls.forward, "body", cls.forward))
        cls.Plain = type(f"{cls.__name__}Plain", (_WithoutTransforms,), {"whole": cls})

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
        return over_batch(cls, info, in_dims, arguments)


class _WithoutTransforms(torch.autograd.Function):
    """The function ``whole`` with its context made in the forward pass, which ``torch.func`` cannot carry."""

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
    """Zeros for the tangents that autograd leaves out."""
    return tuple(
        torch.zeros_like(primal) if tangent is None else tangent
        for tangent, primal in zip(tangents, primals, strict=False)
    )


def forward_of(operator: Any) -> Callable[..., Any]:
    """The operator, with the signature that PyTorch would otherwise work out at every call."""
    count = len(operator._schema.arguments)

    def forward(*arguments: Any) -> Any:
        # Where no argument needs a gradient, torch.compile puts a context in front of them.
        return operator(*arguments[-count:])

    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    forward.body = body_of(operator)  # type: ignore[attr-defined]
    return forward


def outside_function(operator: Any, derivative: Any) -> Any:
    """The weighted marginals; ``derivative`` gives the gradients in the scores and in the weights."""

    class Outside(Batched):
        forward = staticmethod(forward_of(operator))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            keep(ctx, inputs)

        @staticmethod
        def backward(ctx: Any, *directions: Tensor) -> Any:
            *tensors, weights, chart = ctx.saved_tensors
            arguments = (*tensors, *ctx.options, weights, *directions, chart)
            *grads, weights_grad = call_backward(derivative, *arguments)
            constants = len(tensors) - len(grads) + len(ctx.options)
            return (*grads, *(None,) * constants, weights_grad, None)

    class Eager(Outside):
        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            # The Hessian is symmetric, so that its products with tangents are gradients, too.
            *tensors, weights, chart = ctx.saved_tensors
            directions = filled(tangents, [tensor for tensor in tensors if tensor.is_floating_point()])
            *changes, _ = call(derivative, *tensors, *ctx.options, weights, *directions, chart)
            if tangents[-2] is not None:
                more = as_tuple(call(Outside, *tensors, *ctx.options, tangents[-2], chart))
                changes = [change + part for change, part in zip(changes, more, strict=True)]
            return tuple(changes) if len(changes) > 1 else changes[0]

    Outside.Eager = Eager
    return Outside


def inside_function(operator: Any, outside: Any, derivative: Any) -> Any:
    """The log-partition and its chart; the backward pass is the outside pass."""

    class Inside(Batched):
        forward = staticmethod(forward_of(operator))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.mark_non_differentiable(output[1])
            ctx.set_materialize_grads(False)  # else every backward pass fills a chart with zeros
            keep(ctx, inputs, output[1])

        @staticmethod
        def backward(ctx: Any, grad: Tensor | None, _: Any) -> Any:
            *tensors, chart = ctx.saved_tensors
            if grad is None:
                return (None,) * (len(tensors) + len(ctx.options))
            grads = as_tuple(call_backward(outside, *tensors, *ctx.options, grad, chart))
            return (*grads, *(None,) * (len(tensors) - len(grads) + len(ctx.options)))

    class Eager(Inside):
        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            *tensors, chart = ctx.saved_tensors
            directions = filled(tangents, [tensor for tensor in tensors if tensor.is_floating_point()])
            ones = tensors[0].new_ones(len(tensors[0]))
            return call(derivative, *tensors, *ctx.options, ones, *directions, chart)[-1], None

    Inside.Eager = Eager
    return Inside


def constant_function(operator: Any) -> Any:
    """An operator whose result has no derivative."""

    class Constant(Batched):
        forward = staticmethod(forward_of(operator))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.mark_non_differentiable(*as_tuple(output))
            ctx.inputs, ctx.outputs = len(inputs), len(as_tuple(output))

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return (None,) * ctx.inputs

    class Eager(Constant):
        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            return (None,) * ctx.outputs if ctx.outputs > 1 else None

    Constant.Eager = Eager
    return Constant


def map_function(operator: Any, pull: Callable[..., Tensor], sensitivity: Callable[..., Tensor]) -> Any:
    """A map of rows of scores ``(rows, d)`` with one parameter for each row, ``(rows,)``.

    Its derivatives are read off its value, as those of softmax are, and so can be taken any number of times.

    Args:
        operator: ``operator(scores, parameter)`` gives ``(rows, d)``.
        pull: ``pull(direction, value, parameter)``: the symmetric Jacobian in the scores, times a direction.
        sensitivity: ``sensitivity(value, parameter)``: the derivative in the parameter, ``(rows, d)``.
    """

    class Map(Batched):
        forward = staticmethod(forward_of(operator))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.set_materialize_grads(False)  # a loss that knows its own gradient asks for none
            keep(ctx, inputs[1:], output)

        @staticmethod
        def backward(ctx: Any, direction: Tensor | None) -> Any:
            if direction is None:
                return None, None
            parameter, value = ctx.saved_tensors
            wanted, wanted_too = ctx.needs_input_grad
            grad = pull(direction, value, parameter) if wanted else None
            return grad, (direction * sensitivity(value, parameter)).sum(-1) if wanted_too else None

    class Eager(Map):
        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            parameter, value = ctx.saved_tensors
            change, change_too = tangents
            found = torch.zeros_like(value) if change is None else pull(change, value, parameter)
            if change_too is None:
                return found
            return found + change_too.unsqueeze(-1) * sensitivity(value, parameter)

    Map.Eager = Eager
    return Map


def formula_function(operator: Any, formula: Callable[..., Any]) -> Any:
    """An operator with the derivatives of a formula in PyTorch that gives the same value, or several."""

    class Formula(Batched):
        forward = staticmethod(forward_of(operator))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.set_materialize_grads(False)
            keep(ctx, inputs)
            ctx.are_tensors = tuple(isinstance(value, Tensor) for value in inputs)

        @staticmethod
        def backward(ctx: Any, *directions: Tensor | None) -> Any:
            if all(direction is None for direction in directions):
                return (None,) * len(ctx.are_tensors)
            function, places, primals = _smooth(formula, ctx)
            value, pull, *_ = torch.func.vjp(function, *primals)
            grads = dict(zip(places, pull(filled(directions, value)), strict=True))
            return tuple(grads.get(place) for place in range(len(ctx.are_tensors)))

    class Eager(Formula):
        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            function, places, primals = _smooth(formula, ctx)
            # PyTorch's forward mode cannot be nested; the derivative of a backward pass in its direction can.
            value, pull, *_ = torch.func.vjp(function, *primals)
            zeros = tuple(map(torch.zeros_like, value))
            chosen = filled([tangents[place] for place in places], primals)
            (changes,) = torch.func.vjp(pull, zeros)[1](chosen)
            return changes if len(changes) > 1 else changes[0]

    Formula.Eager = Eager
    return Formula


def _smooth(formula: Callable[..., Any], ctx: Any) -> tuple[Callable[..., Scores], list[int], list[Tensor]]:
    """A formula as a function of its arguments that can be differentiated in, their places, and their values."""
    tensors, options = iter(ctx.saved_tensors), iter(ctx.options)
    arguments = [next(tensors if is_tensor else options) for is_tensor in ctx.are_tensors]
    places = [
        place
        for place, value in enumerate(arguments)
        if isinstance(value, Tensor) and value.is_floating_point()
    ]

    def function(*values: Tensor) -> Scores:
        given = dict(zip(places, values, strict=True))
        return as_tuple(formula(*(given.get(place, value) for place, value in enumerate(arguments))))

    return function, places, [arguments[place] for place in places]
