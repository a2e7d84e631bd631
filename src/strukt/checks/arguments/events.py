"""Checks of events, of the axes of several events, and of sample axes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.checks.arguments.shapes import as_tensor_remedy, broadcast_shapes, holds_integers, kind_of
from strukt.kernels.autograd import is_plain

_SEVERAL = "strukt_several"
"""The name of the attribute of events that holds the axis along which an item has several events."""


def several(events: Tensor, axis: int) -> Tensor:
    """Mark a tensor of events as holding several events of each item along an axis; return the same tensor.

    The mark is an attribute of the tensor, which copies and views lack. Under ``torch.func`` and ``torch.compile``
    nothing is marked. The shape alone is ambiguous if the number of events equals the number of items, as sample
    axes come first.
    """
    if is_plain():
        setattr(events, _SEVERAL, axis)
    return events


def event(value: Tensor, batch_shape: torch.Size, event_shape: torch.Size) -> Tensor:
    """Return events as a LongTensor, after checking that they are integers and have the right shape.

    Args:
        value: The events; their shape ends in ``event_shape``, after axes that broadcast with ``batch_shape``.
        batch_shape: The batch shape of the distribution.
        event_shape: The shape of one event, with at least one axis.

    Raises:
        ValueError: If the events are not a tensor of integers or have the wrong shape, or `several` has marked an
            axis after the batch axes.
    """
    if not holds_integers(value):
        raise ValueError(
            f"the event is {kind_of(value)}; expected a tensor of integers, as `mode` and `sample` return"
            f"{as_tensor_remedy('event', value)}"
        )
    if value.shape == batch_shape + event_shape and value.dtype == torch.int64:
        return value
    axis = getattr(value, _SEVERAL, 0)
    try:
        dim = len(event_shape)
        broadcast_shapes(value.shape[:-dim], batch_shape)  # raises an error if they do not fit
        fits = value.shape[-dim:] == event_shape
    except RuntimeError:
        fits = False
    if not fits or (axis and axis == len(batch_shape)):
        raise ValueError(
            f"the event has shape {tuple(value.shape)}; expected it to end in batch_shape + event_shape = "
            f"{tuple(batch_shape + event_shape)}{_among_several(value.shape, batch_shape, event_shape)}"
        )
    return value.long()


def _among_several(shape: torch.Size, batch_shape: torch.Size, event_shape: torch.Size) -> str:
    """Return the end of the error message if the axis after the batch axes seems to hold several events per item.

    Return "" for all other shapes.
    """
    axis = len(batch_shape)
    if len(shape) != axis + 1 + len(event_shape) or shape[:axis] + shape[axis + 1 :] != batch_shape + event_shape:
        return ""
    return (
        f": these look like the {shape[axis]} events of each item that `topk` or `sample_without_replacement` "
        f"returns; write event.movedim({axis}, 0). `topk(k).log_probs` has their log-probabilities already"
    )


def sample_shape(value: Any, member: str = "") -> torch.Size:
    """Return a ``sample_shape``, the sizes of the leading axes of samples, as a ``torch.Size``.

    Args:
        value: The ``sample_shape`` that a user passed to a method.
        member: Name of the method, for the message, if the shape is its first argument; empty if it is a keyword.

    Raises:
        ValueError: If the argument is not a sequence of sizes of at least 0.
    """
    try:
        shape = torch.Size(value)
        if any(size < 0 for size in shape):
            raise ValueError(f"sample_shape is {tuple(shape)}; expected non-negative sizes, such as (5,)")
        return shape
    except TypeError:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        call = f"{member}(({value},))" if member else f"sample_shape=({value},)"
        remedy = f": for {value} samples write {call}" if is_number else ""
        raise ValueError(f"sample_shape is {value!r}; expected sizes such as (5,){remedy}") from None
