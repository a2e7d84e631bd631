"""Whether scores are so large that logarithms of sums of weights lose digits of probabilities.

The fused kernels take probabilities as differences of such logarithms. At 1e15 neighbouring numbers of float64 are
0.125 apart, so that structures which tie get shares that do not sum to one. The references share each sum among
its terms, which holds at any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

LARGE = 1e8
"""Where float64 tells logarithms apart to 1e-8."""

FEW = 10_000
"""Up to so many numbers, a sum of squares takes less time than a search; for more, BLAS starts threads."""


def are_within(values: npt.NDArray[Any], bound: float) -> bool:
    """Tell if a quick look shows that all, of float32 or float64, are within the bound; False does not say no."""
    if values.size > FEW:  # one copy of what is expanded
        values = values[tuple(slice(1 if stride == 0 else None) for stride in values.strides)]
    if values.size <= FEW:
        return bool(np.vdot(values, values) < bound * bound)
    least, most = np.minimum.reduce(values, axis=None), np.maximum.reduce(values, axis=None)
    return bool(least > -bound and most < bound)


def beyond(scores: Sequence[Tensor], log_partition: Callable[[], Tensor]) -> bool:
    """Whether some item has such logarithms.

    Args:
        scores: Score tensors on the CPU.
        log_partition: Gives that of each item. It is asked for only if some score is far below 0: penalties of
            structures that have no weight beside others do no harm.
    """
    low = False
    for score in scores:
        values = score.detach().numpy()
        if are_within(values, LARGE):
            continue
        if np.fmax.reduce(values, axis=None) > LARGE:  # whatever NaN is in the padding
            return True
        low = low or bool(((score < -LARGE) & (score > -torch.inf)).any())
    if not low:
        return False
    total = log_partition()
    return bool(((total < -LARGE) & (total > -torch.inf)).any())
