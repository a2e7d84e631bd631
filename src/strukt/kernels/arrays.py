"""The types of NumPy arrays in annotations of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of numbers of any type; the kernel, or its docstring, says which."""

Floats = npt.NDArray[np.float64]
"""An array in double precision."""
