"""The log-probability of an event as one operation, whose gradient is its parts minus the marginals."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels import dispatch
from strukt.kernels.autograd import as_tuple, differentiable_gradients, is_batched, is_plain
from strukt.kernels.places import reference
from strukt.kernels.places.reference import Places, log_ratio, sum_of_totals


class LogProb(torch.autograd.Function):
    """Autograd function of the log-probability of one event for each item, ``(batch,)``, in plain eager mode.

    The score of an event is linear in the scores, and its gradient is the event's parts. They are added to the
    negative marginals in place, so that a training step takes the memory of one gradient.
    """

    @staticmethod
    def forward(ctx: Any, oracles: Any, dims: tuple[int, ...], places: Places, *arguments: Any) -> Tensor:
        """Compute ``log_ratio(score, log_partition)``.

        Args:
            ctx: The context for the backward pass.
            oracles: The structure's `Oracles`.
            dims: The number of part axes of each score tensor.
            places: For each score tensor the flat indices of an event's entries, ``(batch, count)``.
            arguments: The arguments of the oracles: scores, lengths and so on.
        """
        log_partition, chart = oracles.inside(*arguments)
        kernels = _kernels(log_partition)
        value: Tensor = kernels.log_prob(arguments[: len(places)], dims, places, log_partition)
        ctx.save_for_backward(*(each for each in arguments if isinstance(each, Tensor)), value, chart)
        ctx.options = tuple(each for each in arguments if not isinstance(each, Tensor))
        ctx.oracles, ctx.dims, ctx.places = oracles, dims, places
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        *tensors, value, chart = ctx.saved_tensors
        arguments = (*tensors, *ctx.options)
        count = len(ctx.places)
        if torch.is_grad_enabled() or is_batched(grad) or not is_plain():
            result = _differentiable(ctx, arguments, grad)
        else:
            kernels = _kernels(grad)
            weights = kernels.opposites(grad, value)
            # Gradients may be laid out in memory as the scores are; places count entries in the order of the axes.
            result = tuple(
                part.contiguous() for part in as_tuple(ctx.oracles.outside(*arguments, weights, chart))
            )
            required = [index for index in range(count) if ctx.needs_input_grad[3 + index]]
            parts, places = ([each[index] for index in required] for each in (result, ctx.places))
            kernels.subtract(tuple(parts), tuple(places), weights)
        return None, None, None, *result, *(None,) * (len(arguments) - count)


def _kernels(tensor: Tensor) -> Any:
    """Return the module of this package that computes on the device of a tensor: `cpu`, `gpu` or `reference`."""
    return dispatch.select(__package__, tensor) or reference


def _differentiable(ctx: Any, arguments: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
    """Return the gradients of the scores, times ``grad``, by differentiable operations; None if not required."""
    scores = arguments[: len(ctx.places)]
    with torch.enable_grad():
        value = log_ratio(sum_of_totals(scores, ctx.dims, ctx.places), ctx.oracles.log_partition(*arguments))
    return differentiable_gradients(value, scores, grad)
