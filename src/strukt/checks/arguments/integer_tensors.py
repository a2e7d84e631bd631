"""Checks of lengths, other integers, Booleans, tensors of integers, and masks."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.checks import guards
from strukt.checks.arguments.shapes import holds_integers, kind_of
from strukt.checks.lengths import OF_MASKS, Lengths, as_tensor, looks_like_mask


def lengths(
    value: Lengths | None,
    batch_shape: torch.Size,
    longest: int,
    device: torch.device,
    name: str = "lengths",
    check: bool = True,
) -> Tensor:
    """Return lengths, a tensor or a list, as a LongTensor of shape ``batch_shape`` on a device.

    A program traced by ``torch.compile`` does not check a tensor of lengths, but clamps it to between 0 and
    ``longest``.

    Args:
        value: The lengths, on the CPU or on ``device``; None for ``longest`` in every item.
        batch_shape: The shape of the lengths.
        longest: The largest length allowed.
        device: The device of the result.
        name: The name of the argument in error messages.
        check: Whether to check the values of lengths on a device other than the CPU, which waits for the device.
            Lengths on the CPU are always checked, because compiled kernels use them as indices.

    Raises:
        ValueError: If the shape, type, layout or device is wrong, or a checked length is not between 0 and
            ``longest``.
    """
    if value is None:
        return torch.full(batch_shape, longest, dtype=torch.int64, device=device)
    converted: Any = value if isinstance(value, Tensor) else as_tensor(value, name)
    on_host = False
    if isinstance(converted, Tensor):
        if not converted.numel():
            converted = converted.long()  # PyTorch makes an empty list one of float32
        if torch.compiler.is_compiling():
            # A comparison would fix the sizes in an exported graph; clamped lengths are safe indices of kernels.
            clamped: Tensor = converted.to(device, torch.int64).clamp(0, longest)
            return clamped
        fits = converted.shape == batch_shape and converted.dtype != torch.bool
        if not fits and looks_like_mask(converted, batch_shape, longest):
            raise ValueError(
                f"{name} is of type {converted.dtype} and shape {tuple(converted.shape)}; expected a LongTensor "
                f"of shape {tuple(batch_shape)}, one for each item ({OF_MASKS})"
            )
        on_host = converted.is_cpu
    integers(name, converted, tuple(batch_shape), converted.device if on_host else device)
    if converted.layout is not torch.strided:
        raise ValueError(f"{name} is sparse ({converted.layout}); expected a dense tensor, {name}.to_dense()")
    if converted.shape != batch_shape:
        raise ValueError(
            f"{name} has shape {tuple(converted.shape)}; expected {tuple(batch_shape)}, one for each item"
        )
    checked: Tensor = converted.to(torch.int64)
    if check or on_host:
        guards.require_lengths(checked.flatten(), longest, name)
    return checked.to(device, non_blocking=True)


def integers(name: str, value: Tensor, axes: str | tuple[int, ...], device: torch.device) -> None:
    """Check that a tensor holds integers, not Booleans, and is on ``device``, that of the scores.

    The shape is not checked; ``axes`` is the expected shape in the error message.

    Raises:
        ValueError: If the value is not a tensor of integers, or is on another device.
    """
    if not holds_integers(value):
        kind = str(value.dtype) if isinstance(value, Tensor) else type(value).__name__
        remedy = f", torch.from_numpy({name})" if kind == "ndarray" else ""
        raise ValueError(f"{name} is of type {kind}; expected a LongTensor of shape {axes}{remedy}")
    if value.device != device:
        raise ValueError(
            f"{name} is on {value.device} and the scores on {device}; use {name}.to(scores.device)"
        )


def is_integer(value: object) -> bool:
    """Return True for integers of Python and NumPy that have at most 64 bits, but not for Booleans."""
    return isinstance(value, Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**63


def positive_integer(name: str, value: Any) -> int:
    """Return a value as a Python integer, after checking that it is 1 or more.

    Raises:
        ValueError: If it is not.
    """
    if not is_integer(value) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected a positive integer")
    return int(value)


def boolean(name: str, value: Any) -> bool:
    """Return an option as a Python Boolean, after checking that it is one, or 0 or 1.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(value, (bool, np.bool_)) and not (is_integer(value) and value in (0, 1)):
        shown = kind_of(value) if isinstance(value, Tensor) else repr(value)
        raise ValueError(f"{name} is {shown}; expected True or False")
    return bool(value)


def blank(value: Any, labels: int) -> None:
    """Check that the blank of connectionist temporal classification (CTC) is one of the labels.

    Raises:
        ValueError: If it is not an integer from 0 to ``labels`` - 1.
    """
    if not is_integer(value) or not 0 <= value < labels:
        raise ValueError(
            f"blank is {value!r}; expected one of the labels, an integer from 0 to {labels - 1}"
        )


def mask(name: str, value: Tensor, shape: torch.Size) -> None:
    """Check that a mask is Boolean and of the given shape.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(value, Tensor) or value.dtype != torch.bool:
        raise ValueError(f"{name} is {kind_of(value)}; expected a Boolean mask of shape {tuple(shape)}")
    if value.shape != shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {tuple(shape)}")
