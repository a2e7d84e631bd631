"""The fused Numba kernel of the derivative of the proximal map of total variation."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import kernel, over_batch, rows_of, thread_count
from strukt.kernels.memory import empty


def variation_pull(direction: Tensor, fused: Tensor) -> Tensor:
    """Return, for each entry ``(rows, d)``, the mean of a direction in its run of equal values; 0 at -inf."""
    moves, values = (tensor.detach().contiguous().numpy() for tensor in (direction, fused))
    result = empty(values.shape, moves.dtype)
    if result.size:
        over_batch(_run_means, thread_count(len(result), 4 * result.size), moves, values, result)
    return torch.from_numpy(result)


@kernel
def _run_means(direction: Array, fused: Array, result: Array, start: int, step: int) -> None:
    """Write means of ``direction`` over runs of equal values of ``fused`` to ``result``; all are ``(rows, d)``."""
    d = fused.shape[1]
    for row in range(*rows_of(fused.shape[0], start, step)):
        moves, values, means = direction[row], fused[row], result[row]
        first = 0
        while first < d:
            value, total, last = values[first], np.float64(moves[first]), first + 1
            while last < d and values[last] == value:
                total += moves[last]
                last += 1
            mean = total / (last - first) if value > -np.inf else 0.0
            for j in range(first, last):
                means[j] = mean
            first = last
