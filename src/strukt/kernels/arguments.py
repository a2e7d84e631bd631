"""Checks of what users give: shapes, types and devices, with errors that say how to mend them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels import guards
from strukt.kernels.autograd import is_plain
from strukt.kernels.lengths import OF_MASKS, Lengths, as_tensor, looks_like_mask


def broadcast_shapes(*shapes: torch.Size | tuple[int, ...]) -> torch.Size:
    """Return the shape that tensors of these shapes broadcast to; ``torch.broadcast_shapes`` takes 60 us.

    Raises:
        RuntimeError: If they do not.

    Examples:
        >>> broadcast_shapes((3, 1), (2,))
        torch.Size([3, 2])
    """
    dim = max(map(len, shapes), default=0)
    result = [1] * dim
    for shape in shapes:
        for axis, size in enumerate(shape, dim - len(shape)):
            if size != 1 and size != result[axis]:
                if result[axis] != 1:
                    raise RuntimeError(f"the shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast")
                result[axis] = size
    return torch.Size(result)


def scores(name: str, value: Tensor, axes: str, dim: int) -> None:
    """Check that a score tensor is a floating-point tensor with at least ``dim`` axes.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(value, Tensor):
        raise ValueError(
            f"{name} is a {type(value).__name__}; expected a floating-point tensor of shape {axes}"
        )
    if not value.is_floating_point():
        raise ValueError(
            f"{name} has dtype {value.dtype}; expected a floating-point tensor, e.g. {name}.float()"
        )
    if value.dim() < dim:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {axes}")


def precise(score: Tensor) -> Tensor:
    """Scores in the type to compute in; the graphics processors of Apple know no float64."""
    return score if score.device.type == "mps" else score.double()


def are_ordinary(score: Tensor) -> bool:
    """Whether a look at the scores shows that all are numbers of a size that needs no care."""
    if not is_plain() or score.device.type != "cpu":
        return False
    values = score.detach().numpy()
    least = np.minimum.reduce(values, axis=None, initial=0.0)
    return bool(least >= -guards.LARGEST and np.maximum.reduce(values, axis=None, initial=0.0) <= guards.LARGEST)


def without_extremes(score: Tensor) -> Tensor:
    """Return the scores with -inf in place of those below -1e15, such as the masks of ``torch.finfo(...).min``.

    Examples:
        >>> without_extremes(torch.tensor([1.0, torch.finfo(torch.float32).min]))
        tensor([1., -inf])
    """
    extreme = (score < -guards.LARGEST) & (score != -torch.inf)
    if is_plain() and score.device.type == "cpu" and not bool(extreme.any()):
        return score
    return score.masked_fill(extreme, -torch.inf)


def common_dtype(values: tuple[Tensor, ...], names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """Score tensors in one type: the widest given, and at least float32.

    Raises:
        ValueError: If they are on different devices.
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
) -> Tensor:
    """Lengths, a tensor or a list, as a LongTensor of shape ``batch_shape``.

    Raises:
        ValueError: If the shape, type or device is wrong, or a length is not between 0 and ``longest``.
    """
    if value is None:
        return torch.full(batch_shape, longest, dtype=torch.int64, device=device)
    given: Any = value if isinstance(value, Tensor) else as_tensor(value, device, name)
    fits = isinstance(given, Tensor) and given.shape == batch_shape and given.dtype != torch.bool
    if not fits and isinstance(given, Tensor) and looks_like_mask(given, batch_shape, longest):
        raise ValueError(
            f"{name} is of type {given.dtype} and shape {tuple(given.shape)}; expected a LongTensor of shape "
            f"{tuple(batch_shape)}, one for each item ({OF_MASKS})"
        )
    integers(name, given, str(tuple(batch_shape)), device)
    if given.shape != batch_shape:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}; expected {tuple(batch_shape)}, one for each item"
        )
    checked: Tensor = given.to(torch.int64)
    guards.require_lengths(checked.reshape(batch_shape.numel()), longest, name)
    return checked


def integers(name: str, value: Tensor, axes: str, device: torch.device) -> None:
    """Check that a tensor holds integers, on the device of the scores.

    Raises:
        ValueError: If it does not.
    """
    if (
        not isinstance(value, Tensor)
        or value.is_floating_point()
        or value.is_complex()
        or value.dtype == torch.bool
    ):
        given = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name} is of type {given}; expected a LongTensor of shape {axes}")
    if value.device != device:
        raise ValueError(
            f"{name} is on {value.device} and the scores on {device}; use {name}.to(scores.device)"
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


def event(value: Tensor, batch_shape: torch.Size, event_shape: torch.Size) -> Tensor:
    """Events as a LongTensor of shape ``sample_shape + batch_shape + event_shape``.

    Raises:
        ValueError: If they are no integers or of another shape.
    """
    if not isinstance(value, Tensor) or value.is_floating_point() or value.dtype == torch.bool:
        raise ValueError(
            f"the event is {_kind(value)}; expected a tensor of integers, as `mode` and `sample` give them"
        )
    if value.shape == batch_shape + event_shape and value.dtype == torch.int64:
        return value
    try:
        dim = len(event_shape)
        fits = broadcast_shapes(value.shape, batch_shape + event_shape)[-dim:] == value.shape[-dim:]
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"the event has shape {tuple(value.shape)}; expected it to end in batch_shape + event_shape = "
            f"{tuple(batch_shape + event_shape)}"
        )
    return value.long()


def _kind(value: Any) -> str:
    """What something is, for a message."""
    return f"of dtype {value.dtype}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
