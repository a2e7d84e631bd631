"""Conversion of events to NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from torch import Tensor

Array = npt.NDArray[Any]


def array(tensor: Tensor) -> Array:
    """Return a contiguous array that shares the memory of a tensor if possible."""
    return tensor.contiguous().numpy()
