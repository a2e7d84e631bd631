"""Autograd functions of the operators of `strukt.kernels.oracles`: the derivative of each is another operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import (
    Batched,
    Scores,
    alone,
    as_tuple,
    call,
    call_backward,
    filled,
    keep,
    require_one_forward_mode,
)
from strukt.kernels.operator import forward_of


def outside_function(operator: Any, derivative: Any) -> Any:
    """Return the autograd function of weighted marginals.

    The operator ``derivative`` computes the gradients with respect to scores and weights.
    """

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
                require_one_forward_mode()
                more = as_tuple(call(Outside, *tensors, *ctx.options, tangents[-2], chart))
                changes = [change + part for change, part in zip(changes, more, strict=True)]
            return alone(tuple(changes))

    Outside.Eager = Eager
    return Outside


def inside_function(operator: Any, outside: Any, derivative: Any) -> Any:
    """Return the autograd function of the log-partition and its chart; the backward pass is the outside pass.

    Args:
        operator: The operator of the log-partition and the chart.
        outside: The function that `outside_function` returns.
        derivative: The operator that `outside_function` takes. At weights of 1, the last gradient that it returns
            is the derivative of the log-partition along the tangents, for forward mode.
    """

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


def number_function(operator: Any, slopes: Callable[..., Scores]) -> Any:
    """Return the autograd function of an operator whose result is one number for each item.

    Args:
        operator: Function of scores, other tensors and options to numbers ``(batch,)``.
        slopes: Function of these, factors ``(batch,)`` and the numbers to the gradients with respect to the
            scores, times the factors.
    """

    class Number(Batched):
        forward = staticmethod(forward_of(operator))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            keep(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, factors: Tensor) -> Any:
            *tensors, value = ctx.saved_tensors
            grads = slopes(*tensors, *ctx.options, factors, value)
            return (*grads, *(None,) * (len(tensors) - len(grads) + len(ctx.options)))

    class Eager(Number):
        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            require_one_forward_mode()
            *tensors, value = ctx.saved_tensors
            scores = [tensor for tensor in tensors if tensor.is_floating_point()]
            others = [tensor for tensor in tensors if not tensor.is_floating_point()]
            ones = scores[0].new_ones(len(scores[0]))
            directions = _for_each(len(ones), filled(tangents, scores))
            grads = slopes(*_for_each(len(ones), scores), *others, *ctx.options, ones, value)
            changes = (grad * direction for grad, direction in zip(grads, directions, strict=True))
            return sum(change.flatten(1).sum(1) for change in changes)

    Number.Eager = Eager
    return Number


def _for_each(batch: int, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Repeat rows that several items share, so that each item has its own."""
    return [tensor.repeat_interleave(batch // max(len(tensor), 1), 0) for tensor in tensors]


def constant_function(operator: Any) -> Any:
    """Return the autograd function of an operator whose result has no derivative."""

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


def map_function(
    operator: Any, pull: Callable[..., Tensor], sensitivity: Callable[..., Tensor], nested: bool = True
) -> Any:
    """Return the autograd function of a map of scores ``(rows, d)`` with a parameter for each row, ``(rows,)``.

    The derivatives of the map are functions of its value, like those of softmax, so they exist to any order.

    Args:
        operator: ``operator(scores, parameter)`` returns ``(rows, d)``.
        pull: ``pull(direction, value, parameter)``: the symmetric Jacobian with respect to the scores, times a
            direction.
        sensitivity: ``sensitivity(value, parameter)``: the derivative with respect to the parameter,
            ``(rows, d)``.
        nested: Whether ``pull`` is one autograd function, so that an outer forward mode loses no derivative.
    """

    class Map(Batched):
        forward = staticmethod(forward_of(operator))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.set_materialize_grads(False)  # a loss that computes its own gradients passes None
            keep(ctx, inputs[1:], output)

        @staticmethod
        def backward(ctx: Any, direction: Tensor | None) -> Any:
            if direction is None:
                return None, None
            parameter, value = ctx.saved_tensors
            requested, parameter_requested = ctx.needs_input_grad
            grad = pull(direction, value, parameter) if requested else None
            return grad, (direction * sensitivity(value, parameter)).sum(-1) if parameter_requested else None

    class Eager(Map):
        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            parameter, value = ctx.saved_tensors
            change, change_too = tangents
            if change_too is not None or not nested:
                require_one_forward_mode()
            result = torch.zeros_like(value) if change is None else pull(change, value, parameter)
            if change_too is None:
                return result
            return result + change_too.unsqueeze(-1) * sensitivity(value, parameter)

    Map.Eager = Eager
    return Map


def formula_function(operator: Any, formula: Callable[..., Any]) -> Any:
    """Return the autograd function of an operator, with the derivatives of an equivalent formula in PyTorch."""

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
            require_one_forward_mode()
            function, places, primals = _smooth(formula, ctx)
            # PyTorch's forward mode cannot be nested; the derivative of a backward pass with respect to its
            # direction can.
            value, pull, *_ = torch.func.vjp(function, *primals)
            zeros = tuple(map(torch.zeros_like, value))
            chosen = filled([tangents[place] for place in places], primals)
            (changes,) = torch.func.vjp(pull, zeros)[1](chosen)
            return alone(changes)

    Formula.Eager = Eager
    return Formula


def _smooth(formula: Callable[..., Any], ctx: Any) -> tuple[Callable[..., Scores], list[int], list[Tensor]]:
    """Return a formula as a function of its floating-point arguments alone, their positions, and their values."""
    tensors, options = iter(ctx.saved_tensors), iter(ctx.options)
    arguments = [next(tensors if is_tensor else options) for is_tensor in ctx.are_tensors]
    places = [
        place
        for place, value in enumerate(arguments)
        if isinstance(value, Tensor) and value.is_floating_point()
    ]

    def function(*values: Tensor) -> Scores:
        replaced = dict(zip(places, values, strict=True))
        return as_tuple(formula(*(replaced.get(place, value) for place, value in enumerate(arguments))))

    return function, places, [arguments[place] for place in places]
