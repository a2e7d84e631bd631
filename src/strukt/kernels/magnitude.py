"""Whether scores are so large that logarithms of sums of weights lose digits of probabilities.

The fused kernels take probabilities as differences of such logarithms. At 1e15 neighbouring numbers of float64 are
0.125 apart, so that structures which tie get shares that do not sum to one. The references share each sum among
its terms, which holds at any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

LARGE = 1e8
"""Where float64 tells logarithms apart to 1e-8."""


def beyond(scores: Sequence[Tensor], log_partition: Callable[[], Tensor]) -> bool:
    """Whether some item has such logarithms.

    Args:
        scores: Score tensors on the CPU.
        log_partition: Gives that of each item. It is asked for only if some score is far below 0: penalties of
            structures that have no weight beside others do no harm.
    """
    low = False
    for score in scores:
        if not score.numel():
            continue
        values = score.detach().numpy()
        least, most = np.minimum.reduce(values, axis=None), np.maximum.reduce(values, axis=None)
        if least > -LARGE and most < LARGE:
            continue
        if most != most:  # NaN in padding
            most = float(score.detach().nan_to_num(nan=0.0).amax())
        if most > LARGE:
            return True
        low = low or bool(((score < -LARGE) & (score > -torch.inf)).any())
    if not low:
        return False
    total = log_partition()
    return bool(((total < -LARGE) & (total > -torch.inf)).any())
