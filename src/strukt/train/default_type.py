"""The type of the floating-point numbers of models that are built to be trained or loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def float32_by_default() -> Iterator[None]:
    """Make float32, the type of saved weights, PyTorch's default type for as long as the context lasts."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
