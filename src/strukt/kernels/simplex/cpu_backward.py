"""The fused Numba kernel of entmax's Jacobian times a direction, from entmax's value.

A row is gone through in pieces that stay in the nearest cache. Pieces without support are only looked at and
filled with zeros; in the others loops without branches go through all entries, as vector instructions do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.jit import kernel, over_batch, rows_of, thread_count
from strukt.kernels.memory import empty

Array = npt.NDArray[Any]

PIECE = 512
"""Entries of a piece: long enough for vectors, and short enough to leave out most of a long sparse row."""


def pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """The Jacobian of entmax times a direction, ``(rows, d)``; looks at pieces with support only."""
    moves, values = (given.detach().contiguous().numpy() for given in (direction, probabilities))
    powers = (2.0 - alpha.detach().double()).contiguous().numpy()
    found = empty(values.shape, values.dtype)
    if found.size:
        bits = values.view(f"i{values.itemsize}")
        over_batch(_pull, thread_count(len(found), 4 * found.size), values, bits, moves, powers, found)
    return torch.from_numpy(found)


@kernel
def _pull(
    probabilities: Array,
    bits: Array,
    direction: Array,
    powers: Array,
    found: Array,
    start: int,
    step: int,
) -> None:
    """For each row ``s (v - <s, v> / sum s)`` with s = p ** power where p is not 0."""
    d = probabilities.shape[1]
    pieces = np.empty(d // PIECE + 1, np.int64)
    for row in range(*rows_of(probabilities.shape[0], start, step)):
        count, total, mean = 0, 0.0, 0.0
        for first in range(0, d, PIECE):
            last = min(first + PIECE, d)
            weights = found[row, first:last]
            if any_bits(bits[row, first:last]):
                _weigh(probabilities[row, first:last], powers[row], weights)
                weight, product = _sums(weights, direction[row, first:last])
                total, mean = total + weight, mean + product
                pieces[count] = first
                count += 1
            else:
                weights[:] = 0.0
        mean = mean / total if total > 0.0 else 0.0
        for k in range(count):
            first, last = pieces[k], min(pieces[k] + PIECE, d)
            _turn(found[row, first:last], direction[row, first:last], mean)


@kernel
def any_bits(bits: Array) -> bool:
    """Whether any number is not 0, by its bits, which are faster to compare; -0 counts."""
    some = bits[0]
    for j in range(bits.shape[0]):
        some |= bits[j]
    return bool(some != 0)


@kernel
def _weigh(probabilities: Array, power: float, weights: Array) -> None:
    """``p ** power`` where p is not 0; NaN counts."""
    zero, one = weights.dtype.type(0.0), weights.dtype.type(1.0)
    if power == 0.0:
        for j in range(probabilities.shape[0]):
            weights[j] = one if probabilities[j] != zero else zero
    elif power == 0.5:
        for j in range(probabilities.shape[0]):
            weights[j] = np.sqrt(probabilities[j])
    elif power == 1.0:
        weights[:] = probabilities
    else:
        for j in range(probabilities.shape[0]):
            weights[j] = probabilities[j] ** power if probabilities[j] != zero else zero


@kernel
def _sums(weights: Array, direction: Array) -> tuple[float, float]:
    """The sums of the weights, and of their products with a direction, which may be infinite where they are 0."""
    total, product = 0.0, 0.0
    for j in range(weights.shape[0]):
        weight, move = np.float64(weights[j]), np.float64(direction[j])
        total += weight
        product += weight * move if weight != 0.0 else 0.0
    return total, product


@kernel
def _turn(weights: Array, direction: Array, mean: float) -> None:
    """Weights times what the direction exceeds its mean by, in their place."""
    for j in range(weights.shape[0]):
        weight, move = np.float64(weights[j]), np.float64(direction[j])
        change = weight * (move - mean)
        weights[j] = change if weight != 0.0 else 0.0
