"""Checks of what users give: shapes, types and devices, with errors that say how to mend them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels import guards


def broadcast_shapes(*shapes: torch.Size | tuple[int, ...]) -> torch.Size:
    """The shape that tensors of these shapes broadcast to."""
    return torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call, no-any-return]


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


def common_dtype(values: tuple[Tensor, ...], names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """Score tensors in one type: the widest given, and at least float32.

    Raises:
        ValueError: If they are on different devices.
    """
    dtype = torch.float32
    for value, name in zip(values, names, strict=True):
        dtype = torch.promote_types(dtype, value.dtype)
        if value.device != values[0].device:
            raise ValueError(
                f"{name} is on {value.device} and {names[0]} on {values[0].device}; move both to the same device"
            )
    return tuple(value.to(dtype) for value in values)


def lengths(
    value: Tensor | None,
    batch_shape: torch.Size,
    longest: int,
    device: torch.device,
    name: str = "lengths",
) -> Tensor:
    """Lengths as a LongTensor of shape ``batch_shape``.

    Raises:
        ValueError: If the shape, type or device is wrong, or a length is not between 0 and ``longest``.
    """
    if value is None:
        return torch.full(batch_shape, longest, dtype=torch.int64, device=device)
    integers(name, value, str(tuple(batch_shape)), device)
    if value.shape != batch_shape:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}; expected {tuple(batch_shape)}, one for each item"
        )
    value = value.to(torch.int64)
    guards.require_lengths(value.reshape(batch_shape.numel()), longest, name)
    return value


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
