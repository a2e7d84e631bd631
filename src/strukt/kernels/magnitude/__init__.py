"""Checks for scores so large that logarithms of sums are too coarse for probabilities.

The fused kernels compute probabilities from differences of logarithms of sums. At 1e15, neighbouring numbers of
float64 are 0.125 apart, so that the shares of tied structures do not sum to 1. The references divide each sum
among its terms, which is exact at any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

LARGE = 1e8
"""The absolute value up to which neighbouring numbers of float64 are about 1e-8 apart."""

FEW = 10_000
"""The most values for which a sum of squares is faster than minimum and maximum; for more, BLAS starts threads."""


def are_within(values: npt.NDArray[Any], bound: float) -> bool:
    """Return True if a quick test shows that all values are within the bound; False is inconclusive."""
    if values.size > FEW:  # collapse expanded axes
        values = values[tuple(slice(1 if stride == 0 else None) for stride in values.strides)]
    if values.size <= FEW:
        return bool(np.vdot(values, values) < bound * bound)
    least, most = np.minimum.reduce(values, axis=None), np.maximum.reduce(values, axis=None)
    return bool(least > -bound and most < bound)


def beyond(scores: Sequence[Tensor], log_partition: Callable[[], Tensor]) -> bool:
    """Return True if the logarithms of some item may exceed `LARGE` in absolute value.

    Args:
        scores: Score tensors on the CPU.
        log_partition: Function that returns the log-partition of each item. It is called only if some score is
            below ``-LARGE`` and none is above ``LARGE``. Such penalties are harmless unless every structure of an
            item has one, so that the log-partition is below ``-LARGE``, too.
    """
    low = False
    for score in scores:
        values = score.detach().numpy()
        if are_within(values, LARGE):
            continue
        if np.fmax.reduce(values, axis=None) > LARGE:  # ignoring NaN in the padding
            return True
        low = low or bool(((score < -LARGE) & (score > -torch.inf)).any())
    if not low:
        return False
    total = log_partition()
    return bool(((total < -LARGE) & (total > -torch.inf)).any())
