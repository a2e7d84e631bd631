"""Elimination without subtraction in probability space, shared by sums and samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import kernel

Array = npt.NDArray[Any]

SMALLEST = 1e-100
"""Totals below this are not exact enough."""


@kernel
def eliminate(weights: Array, single_root: bool) -> float:
    """Eliminate all words in place; gives the log of the total, NaN to decline."""
    n = weights.shape[0]
    total = 1.0
    log_total = 0.0
    for k in range(n - 1, -1, -1):
        pivot = 0.0
        for j in range(1, k + 1):
            pivot += weights[k, j]
        if k == 0 or not single_root:
            pivot += weights[k, 0]
        total *= pivot
        if not total > SMALLEST:
            return np.nan
        log_total += np.log(pivot)
        for j in range(k + 1):
            weights[k, j] /= pivot
        weights[k, k + 1] = pivot
        for i in range(k):
            into = weights[i, k + 1]
            own = weights[i, i + 1]
            for j in range(k + 1):
                weights[i, j] += into * weights[k, j]
            weights[i, i + 1] = own
    return log_total
