"""Checks of arguments: shapes, types and devices, with errors that name the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.checks import guards
from strukt.checks.lengths import OF_MASKS, Lengths, as_tensor, looks_like_mask
from strukt.kernels import dispatch, magnitude
from strukt.kernels.autograd import is_plain


def broadcast_shapes(*shapes: torch.Size | tuple[int, ...]) -> torch.Size:
    """Return the shape that these shapes broadcast to; faster than ``torch.broadcast_shapes``, which takes 60 us.

    Raises:
        RuntimeError: If the shapes do not broadcast.

    Examples:
        >>> broadcast_shapes((3, 1), (2,))
        torch.Size([3, 2])
    """
    dim = 0
    for shape in shapes:
        dim = max(dim, len(shape))
    result = [1] * dim
    for shape in shapes:
        for axis, size in enumerate(shape, dim - len(shape)):
            if size != 1 and size != result[axis]:
                if result[axis] != 1:
                    raise RuntimeError(f"the shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast")
                result[axis] = size
    return torch.Size(result)


def scores(name: str, value: Tensor, axes: str, dim: int) -> None:
    """Check that a score tensor is a dense floating-point tensor with data and at least ``dim`` axes.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(value, Tensor):
        remedy = _as_tensor(name, value)
        raise ValueError(
            f"{name} is a {type(value).__name__}; expected a floating-point tensor of shape {axes}{remedy}"
        )
    if not value.is_floating_point():
        remedy = f"{name}.real" if value.is_complex() else f"{name}.float()"
        raise ValueError(f"{name} has dtype {value.dtype}; expected a floating-point tensor, e.g. {remedy}")
    if value.layout is not torch.strided:
        remedy = "torch.nested.to_padded_tensor" if value.is_nested else "to_dense"
        raise ValueError(
            f"{name} has the layout {value.layout}; expected a dense tensor: {remedy} makes one, but fills gaps "
            "with 0, and a forbidden part needs -inf"
        )
    if value.is_meta:
        raise ValueError(
            f"{name} is on the meta device, which holds shapes but no numbers; expected a tensor with data, e.g. "
            f"torch.empty_like({name}, device='cpu') filled with scores"
        )
    if value.dim() < dim:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {axes}")


def sample_shape(value: Any, member: str = "") -> torch.Size:
    """Return the leading axes of samples as a ``torch.Size``.

    Args:
        value: The argument.
        member: Name of the method that takes the shape as its first argument, for the message; empty for keywords.

    Raises:
        ValueError: If the argument is not a sequence of sizes of at least 0.
    """
    try:
        shape = torch.Size(value)
        if any(size < 0 for size in shape):
            raise ValueError(f"sample_shape is {tuple(shape)}; expected sizes from 0 on, such as (5,)")
        return shape
    except TypeError:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        call = f"{member}(({value},))" if member else f"sample_shape=({value},)"
        remedy = f": for {value} samples write {call}" if is_number else ""
        raise ValueError(f"sample_shape is {value!r}; expected sizes such as (5,){remedy}") from None


def not_lengths(name: str, value: Tensor, scores: str, kind: str, shape: str) -> None:
    """Check that the second scores are not lengths, which some other libraries take as second argument.

    Args:
        name: Name of the second scores.
        value: The second scores.
        scores: Name of the first scores.
        kind: Name of the structure.
        shape: The shape of the second scores, without batch axes.

    Raises:
        ValueError: If the second scores are integers, in a tensor or a list.
    """
    whole = isinstance(value, Tensor) and not value.is_floating_point() and not value.is_complex()
    if whole or (isinstance(value, (list, tuple)) and value and all(isinstance(size, int) for size in value)):
        given = f"has dtype {value.dtype} and shape {tuple(value.shape)}" if whole else f"is {value!r:.60}"
        raise ValueError(
            f"{name} {given}, as lengths have; expected "
            f"{kind}({scores}, {name}, lengths) with a floating-point {name} {shape}, torch.zeros{shape} for none"
        )


def are_ordinary(values: tuple[Tensor, ...], may_wait: bool) -> bool:
    """Return whether all scores are known to be ordinary numbers, that is, finite and not extreme.

    Args:
        values: Score tensors.
        may_wait: Whether the check may wait for a device.
    """
    if not is_plain():
        return False
    if all(score.is_cpu for score in values):
        return all(magnitude.are_within(score.detach().numpy(), guards.LARGEST) for score in values)
    kernels = dispatch.select(magnitude.__name__, values[0]) if may_wait else None
    return kernels is not None and kernels.are_ordinary(values, guards.LARGEST)


def without_extremes(score: Tensor) -> Tensor:
    """Replace scores below -1e15 by -inf, such as masks filled with ``torch.finfo(...).min``.

    Examples:
        >>> without_extremes(torch.tensor([1.0, torch.finfo(torch.float32).min]))
        tensor([1., -inf])
    """
    extreme = score < -guards.LARGEST
    if is_plain() and score.device.type == "cpu" and not bool((extreme & (score != -torch.inf)).any()):
        return score
    return score.masked_fill(extreme, -torch.inf)


def common_dtype(values: tuple[Tensor, ...], names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """Convert score tensors to a common dtype: the widest of theirs, and at least float32.

    Raises:
        ValueError: If the tensors are on different devices.
    """
    first = values[0]
    dtype = first.dtype
    if dtype in (torch.float32, torch.float64) and all(
        value.dtype == dtype and value.device == first.device for value in values
    ):
        return values
    for value, name in zip(values, names, strict=False):
        dtype = torch.promote_types(dtype, value.dtype)
        if value.device != first.device:
            raise ValueError(
                f"{name} is on {value.device} and {names[0]} on {first.device}; move both to the same device"
            )
    dtype = torch.promote_types(dtype, torch.float32)
    return tuple(value.to(dtype) for value in values)


def lengths(
    value: Lengths | None,
    batch_shape: torch.Size,
    longest: int,
    device: torch.device,
    name: str = "lengths",
    check: bool = True,
) -> Tensor:
    """Return lengths, a tensor or a list, as a LongTensor of shape ``batch_shape`` on a device.

    Lengths on the CPU are always checked, because compiled kernels use them as addresses. Lengths on other devices
    are checked only if ``check``, which waits for the device.

    Raises:
        ValueError: If the shape, type or device is wrong, or a length is not between 0 and ``longest``.
    """
    if value is None:
        return torch.full(batch_shape, longest, dtype=torch.int64, device=device)
    given: Any = value if isinstance(value, Tensor) else as_tensor(value, name)
    if isinstance(given, Tensor) and not given.numel():
        given = given.long()  # PyTorch makes an empty list one of float32
    if isinstance(given, Tensor) and torch.compiler.is_compiling():
        return given.to(device, torch.int64)  # comparing sizes would make them constants of an exported graph
    fits = isinstance(given, Tensor) and given.shape == batch_shape and given.dtype != torch.bool
    if not fits and isinstance(given, Tensor) and looks_like_mask(given, batch_shape, longest):
        raise ValueError(
            f"{name} is of type {given.dtype} and shape {tuple(given.shape)}; expected a LongTensor of shape "
            f"{tuple(batch_shape)}, one for each item ({OF_MASKS})"
        )
    on_host = isinstance(given, Tensor) and given.is_cpu
    integers(name, given, str(tuple(batch_shape)), given.device if on_host else device)
    if given.layout is not torch.strided:
        raise ValueError(f"{name} is sparse ({given.layout}); expected a dense tensor, {name}.to_dense()")
    if given.shape != batch_shape:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}; expected {tuple(batch_shape)}, one for each item"
        )
    checked: Tensor = given.to(torch.int64)
    if check or on_host:
        guards.require_lengths(checked.reshape(batch_shape.numel()), longest, name)
    return checked.to(device, non_blocking=True)


def integers(name: str, value: Tensor, axes: str, device: torch.device) -> None:
    """Check that a tensor holds integers and is on the device of the scores.

    Raises:
        ValueError: If it is not.
    """
    if (
        not isinstance(value, Tensor)
        or value.is_floating_point()
        or value.is_complex()
        or value.dtype == torch.bool
    ):
        given = str(value.dtype) if isinstance(value, Tensor) else type(value).__name__
        remedy = f", torch.from_numpy({name})" if given == "ndarray" else ""
        raise ValueError(f"{name} is of type {given}; expected a LongTensor of shape {axes}{remedy}")
    if value.device != device:
        raise ValueError(
            f"{name} is on {value.device} and the scores on {device}; use {name}.to(scores.device)"
        )


def blank(value: Any, labels: int) -> None:
    """Check that the blank of connectionist temporal classification (CTC) is one of the labels.

    Raises:
        ValueError: If it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < labels:
        raise ValueError(
            f"blank is {value!r}; expected one of the labels, an integer from 0 to {labels - 1}"
        )


def mask(name: str, value: Tensor, shape: torch.Size) -> None:
    """Check that a mask is Boolean and of the given shape.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(value, Tensor) or value.dtype != torch.bool:
        raise ValueError(f"{name} is {_kind(value)}; expected a Boolean mask of shape {tuple(shape)}")
    if value.shape != shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {tuple(shape)}")


def fitting(name: str, value: Tensor, shape: torch.Size) -> None:
    """Check that a tensor broadcasts to a shape.

    Raises:
        ValueError: If it does not.
    """
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} is {_kind(value)}; expected a tensor that broadcasts to {tuple(shape)}")
    try:
        fits = broadcast_shapes(value.shape, shape) == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}; expected one that broadcasts to {tuple(shape)}"
        )


def batched(name: str, value: Tensor, batch_shape: torch.Size, own: tuple[int, ...]) -> Tensor:
    """Add batch axes of size 1 to scores that all items share; return all others as they are.

    Args:
        name: Name of the scores.
        value: Scores of shape ``own``, or of shape ``own`` with leading batch axes.
        batch_shape: The sizes of the batch axes.
        own: The shape of the scores of one item.

    Raises:
        ValueError: If the shape is wrong.
    """
    scores(name, value, f"{own} or batch + {own}", len(own))
    given = value.view(*(1,) * len(batch_shape), *value.shape) if value.dim() == len(own) else value
    batch = given.shape[: given.dim() - len(own)]
    fits = given.shape[len(batch) :] == own and len(batch) == len(batch_shape)
    if fits and all(have in (1, want) for have, want in zip(batch, batch_shape, strict=True)):
        return given
    raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {own}, or {(*batch_shape, *own)}")


_SEVERAL = "strukt_several"
"""The attribute of events that holds the axis along which an item has several events, if it is not the first."""


def several(events: Tensor, axis: int) -> Tensor:
    """Mark events as having several events of each item along an axis.

    The shape alone is ambiguous if the number of events equals the number of items, as sample axes come first.
    """
    if is_plain():
        setattr(events, _SEVERAL, axis)
    return events


def event(value: Tensor, batch_shape: torch.Size, event_shape: torch.Size) -> Tensor:
    """Return events as a LongTensor of shape ``sample_shape + batch_shape + event_shape``.

    Raises:
        ValueError: If the events are not integers, or have the wrong shape.
    """
    if (
        not isinstance(value, Tensor)
        or value.is_floating_point()
        or value.dtype == torch.bool
        or value.is_complex()
    ):
        raise ValueError(
            f"the event is {_kind(value)}; expected a tensor of integers, as `mode` and `sample` give them"
            f"{_as_tensor('event', value)}"
        )
    if value.shape == batch_shape + event_shape and value.dtype == torch.int64:
        return value
    axis = getattr(value, _SEVERAL, 0)
    try:
        dim = len(event_shape)
        fits = broadcast_shapes(value.shape, batch_shape + event_shape)[-dim:] == value.shape[-dim:]
    except RuntimeError:
        fits = False
    if not fits or (axis and axis == len(batch_shape)):
        raise ValueError(
            f"the event has shape {tuple(value.shape)}; expected it to end in batch_shape + event_shape = "
            f"{tuple(batch_shape + event_shape)}{_among_several(value.shape, batch_shape, event_shape)}"
        )
    return value.long()


def _among_several(shape: torch.Size, batch_shape: torch.Size, event_shape: torch.Size) -> str:
    """Return the remedy for events with an axis of several events after the batch axes; empty for all others."""
    axis = len(batch_shape)
    if len(shape) != axis + 1 + len(event_shape) or shape[:axis] + shape[axis + 1 :] != batch_shape + event_shape:
        return ""
    return (
        f": these look like the {shape[axis]} events of each item that `topk` or `sample_without_replacement` "
        f"gives, write event.movedim({axis}, 0); `topk(k).log_probs` has their log-probabilities already"
    )


def _as_tensor(name: str, value: Any) -> str:
    """Return the remedy for an argument that is not a tensor, for a message."""
    if isinstance(value, np.ndarray):
        return f", e.g. torch.from_numpy({name})"
    return f", e.g. torch.tensor({name})" if isinstance(value, list | tuple) else ""


def _kind(value: Any) -> str:
    """Return the dtype of a tensor, or the type of any other value, for a message."""
    return f"of dtype {value.dtype}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
