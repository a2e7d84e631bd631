"""Conversion of events to NumPy arrays."""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.arrays import Array


def array(tensor: Tensor) -> Array:
    """Return a contiguous array that shares the memory of a tensor if possible."""
    return tensor.contiguous().numpy()
