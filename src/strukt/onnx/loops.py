"""Loops over the first axis of tensors in exported graphs, by PyTorch's `scan`, which becomes ONNX's Scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]], start: Any, items: Any, reverse: bool = False
) -> tuple[Any, Any]:
    """Call `step` for each item in turn; return the last state, and the stacked outputs of all steps.

    Args:
        step: Returns the next state and an output, from a state and an item. It must not modify its arguments.
        start: The first state: a tensor, or a tuple of tensors.
        items: A tensor whose first axis is over steps, or a tuple of such tensors.
        reverse: Whether to begin with the last item; outputs keep the order of the items.
    """
    from torch._higher_order_ops.scan import scan
    from torch.utils._pytree import tree_map

    def in_order(tensor: Tensor) -> Tensor:
        """Return a contiguous copy: `scan` requires contiguous tensors, and none may occur twice."""
        return tensor.clone(memory_format=torch.contiguous_format)

    def ordered(state: Any, item: Any) -> tuple[Any, Any]:
        result: tuple[Any, Any] = tree_map(in_order, step(state, item))
        return result

    start, items = tree_map(in_order, (start, items))
    last: tuple[Any, Any] = scan(ordered, start, items, reverse=reverse)
    return last


def grid(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the indices of rows ``(size, 1)`` and of columns ``(size,)`` of a square matrix, and the last index.

    Args:
        values: A tensor whose last axis has the size of the matrix.
    """
    row, column = (torch.arange(values.shape[-1], device=values.device) for _ in range(2))
    return row[:, None], column, row.max()


def at(values: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return ``values[:, rows, columns]``; indices out of range are clamped.

    Args:
        values: ``(batch, size, size)``.
        rows: Indices of rows.
        columns: Indices of columns, which broadcast with those of rows.
    """
    size = values.shape[-1]
    places = rows.clamp(0, size - 1) * size + columns.clamp(0, size - 1)
    return values.flatten(1)[:, places]
