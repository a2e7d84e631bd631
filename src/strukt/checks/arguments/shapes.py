"""Shapes that broadcast, types of tensors, and phrases about values for messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def broadcast_shapes(*shapes: torch.Size | tuple[int, ...]) -> torch.Size:
    """Return the shape to which shapes broadcast, as ``torch.broadcast_shapes`` does.

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


def fitting(name: str, value: Tensor, shape: torch.Size) -> None:
    """Check that a tensor broadcasts to a shape.

    Args:
        name: Name of the value in error messages.
        value: The tensor.
        shape: The shape, which must not grow by broadcasting.

    Raises:
        ValueError: If the value does not broadcast to the shape, or is not a tensor.

    Examples:
        >>> import torch
        >>> fitting("transition", torch.zeros(3, 3), torch.Size([2, 3, 3]))
        >>> fitting("transition", torch.zeros(2, 3, 3), torch.Size([3, 3]))
        Traceback (most recent call last):
        ValueError: transition has shape (2, 3, 3); expected one that broadcasts to (3, 3)
    """
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} is {kind_of(value)}; expected a tensor that broadcasts to {tuple(shape)}")
    try:
        fits = broadcast_shapes(value.shape, shape) == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}; expected one that broadcasts to {tuple(shape)}"
        )


def any_of(*shapes: tuple[int, ...]) -> str:
    """Return shapes as alternatives, each one once, for a message.

    Examples:
        >>> any_of((3, 3), (2, 3, 3), (3, 3))
        '(3, 3) or (2, 3, 3)'
    """
    *texts, last = dict.fromkeys(str(tuple(shape)) for shape in shapes)
    return f"{', '.join(texts)} or {last}" if texts else last


def kind_of(value: Any) -> str:
    """Return the dtype of a tensor, or the type of any other value, for a message."""
    return f"of dtype {value.dtype}" if isinstance(value, Tensor) else f"a {type(value).__name__}"


def holds_integers(value: Any) -> bool:
    """Return True for a tensor of integers, but not of Booleans."""
    return isinstance(value, Tensor) and not (
        value.is_floating_point() or value.is_complex() or value.dtype == torch.bool
    )


def as_tensor_remedy(name: str, value: Any) -> str:
    """Return the end of a message about an argument that is not a tensor: how to convert it.

    It is empty unless the argument is an array, a list or a tuple.

    Examples:
        >>> as_tensor_remedy("x", [1.0]), as_tensor_remedy("x", None)
        (', e.g. torch.tensor(x)', '')
    """
    if isinstance(value, np.ndarray):
        return f", e.g. torch.from_numpy({name})"
    return f", e.g. torch.tensor({name})" if isinstance(value, (list, tuple)) else ""
