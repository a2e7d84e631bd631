"""Lengths of the items of a batch: as they are given, and from masks of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from strukt.checks import guards

Lengths: TypeAlias = Tensor | Sequence[Any] | int
"""A LongTensor, or a list of whole numbers, nested as deep as there are batch axes; a number without any."""

OF_MASKS = "lengths of a mask are strukt.lengths_from_mask(mask)"


def lengths_from_mask(mask: Tensor) -> Tensor:
    """Return the lengths of sequences from a mask that is 1 at their positions and 0 in the padding.

    This is the `mask` of pytorch-crf and AllenNLP, and the `attention_mask` of transformers padded on the right.

    Args:
        mask: ``(*batch, n)``, Boolean, or integers 0 and 1. The ones of an item come first, then the zeros.

    Returns:
        ``(*batch,)``, a LongTensor.

    Raises:
        ValueError: If the mask is of another type or holds other numbers, or if it has a hole: a position behind
            the padding. The message names the item.

    Complexity: O(n) an item.

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
    """Return a padded batch of sequences that stand one behind the other, as in hmmlearn.

    Args:
        x: ``(m, *event)``, the observations of all sequences, a tensor or an array.
        lengths: ``(batch,)``, how many belong to each, in order; together m.

    Returns:
        ``(batch, n, *event)`` for the longest length n, with zeros in the padding, and the lengths, a LongTensor.

    Raises:
        ValueError: If the lengths are negative or do not add up to m.

    Complexity: O(batch n) numbers.

    Examples:
        >>> pad_concatenated(torch.tensor([3, 1, 4, 1, 5]), [2, 3])
        (tensor([[3, 1, 0],
                [4, 1, 5]]), tensor([2, 3]))
    """
    rows = torch.as_tensor(x)
    sizes = torch.as_tensor(lengths, device=rows.device)
    sizes = sizes if sizes.numel() else sizes.long()  # PyTorch makes an empty list one of float32
    if not rows.dim() or sizes.dim() != 1 or sizes.is_floating_point() or (sizes < 0).any():
        raise ValueError(
            f"x has shape {tuple(rows.shape)} and lengths is {lengths!r:.60}; expected (m, *event), and whole "
            "numbers from 0 on, one for each sequence"
        )
    if int(sizes.sum()) != len(rows):
        raise ValueError(f"lengths add up to {int(sizes.sum())}; expected {len(rows)}, as many as x has rows")
    longest = int(sizes.max()) if len(sizes) else 0
    padded = rows.new_zeros(len(sizes), longest, *rows.shape[1:])
    padded[torch.arange(longest, device=rows.device) < sizes.unsqueeze(1)] = rows
    return padded, sizes.long()


def as_tensor(value: Any, name: str) -> Any:
    """Return lists of numbers, and single ones, as a tensor on the CPU; everything else as it is.

    Raises:
        ValueError: If a list holds something else, or its rows differ in length.
    """
    if isinstance(value, bool) or not isinstance(value, list | tuple | int):
        return value
    try:
        tensor = torch.tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is {value!r}; expected a LongTensor or a list of whole numbers") from error
    return tensor if tensor.numel() else tensor.long()


def looks_like_mask(value: Tensor, batch_shape: torch.Size, longest: int) -> bool:
    """Whether what stands in the place of lengths is rather a mask, of which there is a row for each item."""
    return value.dtype == torch.bool or value.shape == (*batch_shape, longest)
