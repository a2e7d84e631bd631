"""The types of NumPy arrays in annotations of kernels, and a test of indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of numbers of any type; the kernel, or its docstring, says which."""

Floats = npt.NDArray[np.float64]
"""An array in double precision."""


def are_distinct(indices: Array) -> bool:
    """Return True if no index occurs twice; indices are integers of at least 0.

    Time and memory O(count + largest index). `np.unique`, which hashes or sorts, would take most of the time in
    which the table of a long sequence is built.

    Examples:
        >>> are_distinct(np.array([2, 0, 1])), are_distinct(np.array([2, 0, 2]))
        (True, False)
    """
    return bool(np.bincount(indices, minlength=1).max() <= 1)
