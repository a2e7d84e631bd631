"""Lengths of the items of a batch, from lists and from the masks of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from strukt.checks import guards

Lengths: TypeAlias = Tensor | Sequence[Any] | int
"""A LongTensor, a list of whole numbers nested as deep as there are batch axes, or a number if there are none."""

OF_MASKS = "lengths of a mask are strukt.lengths_from_mask(mask)"
"""The remedy in error messages about masks that are passed as lengths."""


def lengths_from_mask(mask: Tensor) -> Tensor:
    """Return the lengths of sequences from a mask that is 1 at their positions and 0 in the padding.

    Such masks are the ``mask`` of pytorch-crf and AllenNLP, and the ``attention_mask`` of transformers with
    padding on the right.

    Args:
        mask: ``(*batch, n)``, Boolean, or integers 0 and 1; the ones of each item come before the zeros.

    Returns:
        ``(*batch,)``, a LongTensor.

    Raises:
        ValueError: If the mask has another type or other values, no axis, or a hole, that is, a 1 after a 0.

    Complexity: O(n) for each item.

    Examples:
        >>> lengths_from_mask(torch.tensor([[1, 1, 1], [1, 0, 0]]))
        tensor([3, 1])
    """
    if not isinstance(mask, Tensor):
        raise ValueError(f"mask is a {type(mask).__name__}; expected a tensor of shape (*batch, n)")
    if mask.is_floating_point() or mask.is_complex():
        raise ValueError(
            f"mask has dtype {mask.dtype}; expected Booleans, or integers 0 and 1, e.g. mask.bool()"
        )
    if not mask.dim():
        raise ValueError("mask has shape (); expected (*batch, n), a row for each sequence")
    flat = mask.reshape(mask.shape[:-1].numel(), mask.shape[-1])
    guards.require_prefixes(flat)
    return mask.sum(-1)


def pad_concatenated(x: Any, lengths: Lengths) -> tuple[Tensor, Tensor]:
    """Convert concatenated sequences, as hmmlearn takes them, to a padded batch.

    Args:
        x: ``(m, *event)``, the observations of all sequences, a tensor or an array.
        lengths: ``(batch,)``, the length of each sequence, in order, with sum m.

    Returns:
        A new tensor ``(batch, n, *event)``, padded with zeros, where n is the largest length; and the lengths, a
        LongTensor ``(batch,)``. Both are on the device of ``x``.

    Raises:
        ValueError: If ``x`` has no axis, or the lengths are not a row of whole numbers of 0 or more, or do not add
            up to m.

    Complexity: O(batch n) time and memory, times the size of an event.

    Examples:
        >>> pad_concatenated(torch.tensor([3, 1, 4, 1, 5]), [2, 3])
        (tensor([[3, 1, 0],
                [4, 1, 5]]), tensor([2, 3]))
    """
    rows = torch.as_tensor(x)
    sizes = torch.as_tensor(lengths, device=rows.device)
    sizes = sizes if sizes.numel() else sizes.long()  # PyTorch converts an empty list to float32
    whole = not sizes.is_floating_point() and sizes.dtype != torch.bool
    if not rows.dim() or sizes.dim() != 1 or not whole or (sizes < 0).any():
        raise ValueError(
            f"x has shape {tuple(rows.shape)} and lengths is {lengths!r:.60}; expected (m, *event), and whole "
            "numbers of 0 or more, one for each sequence"
        )
    if int(sizes.sum()) != len(rows):
        raise ValueError(f"lengths add up to {int(sizes.sum())}; expected {len(rows)}, the number of rows of x")
    longest = int(sizes.max()) if len(sizes) else 0
    padded = rows.new_zeros(len(sizes), longest, *rows.shape[1:])
    padded[torch.arange(longest, device=rows.device) < sizes.unsqueeze(1)] = rows
    return padded, sizes.long()


def as_tensor(value: Any, name: str) -> Any:
    """Convert a whole number or a list of numbers to a tensor on the CPU; return all other values unchanged.

    Errors call the value by its ``name``.

    Raises:
        ValueError: If a list holds anything but numbers, or its rows differ in length.
    """
    if isinstance(value, bool) or not isinstance(value, (list, tuple, int)):
        return value
    try:
        tensor = torch.tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is {value!r}; expected a LongTensor or a list of whole numbers") from error
    return tensor if tensor.numel() else tensor.long()


def looks_like_mask(value: Tensor, batch_shape: torch.Size, longest: int) -> bool:
    """Return True if a tensor passed as lengths looks like a mask: Boolean, or of shape ``batch + (longest,)``."""
    return value.dtype == torch.bool or value.shape == (*batch_shape, longest)
