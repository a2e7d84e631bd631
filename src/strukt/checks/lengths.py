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


def as_tensor(value: Any, device: torch.device, name: str) -> Any:
    """Lists of numbers, and single ones, as a tensor; everything else as it is.

    Raises:
        ValueError: If a list holds something else, or its rows differ in length.
    """
    if isinstance(value, bool) or not isinstance(value, list | tuple | int):
        return value
    try:
        tensor = torch.tensor(value, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is {value!r}; expected a LongTensor or a list of whole numbers") from error
    return tensor if tensor.numel() else tensor.long()


def looks_like_mask(value: Tensor, batch_shape: torch.Size, longest: int) -> bool:
    """Whether what stands in the place of lengths is rather a mask, of which there is a row for each item."""
    return value.dtype == torch.bool or value.shape == (*batch_shape, longest)
