"""Codes of bits as integers, and their bits."""

from __future__ import annotations

import torch
from torch import Tensor

MOST_BITS = 62
"""The largest number of bits of a code, which is an integer of 64 bits."""


def to_codes(bits: Tensor) -> Tensor:
    """Return the codes ``batch`` of bits ``batch + (k,)``, Booleans or 0 and 1: bit b counts 2^b.

    Examples:
        >>> to_codes(torch.tensor([[True, False, True], [False, True, False]]))
        tensor([5, 2])
    """
    return (bits.long() << torch.arange(bits.shape[-1], device=bits.device)).sum(-1)


def to_bits(codes: Tensor, count: int) -> Tensor:
    """Return a mask ``batch + (count,)`` of the bits of codes ``batch`` that are +1, the inverse of `to_codes`.

    Examples:
        >>> to_bits(torch.tensor([5, 2]), 3).long()
        tensor([[1, 0, 1],
                [0, 1, 0]])
    """
    return codes.unsqueeze(-1) >> torch.arange(count, device=codes.device) & 1 == 1
