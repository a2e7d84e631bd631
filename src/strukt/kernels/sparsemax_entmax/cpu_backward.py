"""The fused Numba kernel of entmax's Jacobian times a direction, from entmax's value.

A row is processed in pieces that fit into the first-level cache. Pieces without support are only tested and filled
with zeros; in all others, branch-free vectorised loops process all entries.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import difference
from strukt.kernels.jit import inner, kernel, over_batch, rows_of, thread_count
from strukt.kernels.memory import empty
from strukt.kernels.sparsemax_entmax.derivatives import MOST

PIECE = 512
"""The number of entries of a piece: long enough for vectors, short enough to skip most of a long sparse row."""


def pull(direction: Tensor, probabilities: Tensor, alpha: Tensor) -> Tensor:
    """Return the Jacobian of entmax times a direction, ``(rows, d)``, skipping pieces without support."""
    moves, values = (tensor.detach().contiguous().numpy() for tensor in (direction, probabilities))
    powers = (2.0 - alpha.detach().double()).contiguous().numpy()
    result = empty(values.shape, values.dtype)
    if result.size:
        bits = values.view(f"i{values.itemsize}")
        most = float(np.finfo(values.dtype).max) ** MOST
        over_batch(_pull, thread_count(len(result), 4 * result.size), values, bits, moves, powers, most, result)
    return torch.from_numpy(result)


@kernel
def _pull(
    probabilities: Array,
    bits: Array,
    direction: Array,
    powers: Array,
    most: float,
    result: Array,
    start: int,
    step: int,
) -> None:
    """Write, for each row, ``s (v - <s, v> / sum s)`` with s = p ** power where p is not 0.

    With a negative power, one s may dominate all others, and the mean is then close to its v. This v is therefore
    subtracted from all first.

    Arrays: ``probabilities``, their ``bits``, the vectors v as ``direction``, and ``result (rows, d)``; ``powers
    (rows,)``.
    """
    d = probabilities.shape[1]
    pieces = np.empty(d // PIECE + 1, np.int64)
    for row in range(*rows_of(probabilities.shape[0], start, step)):
        count, total, mean, power = 0, 0.0, 0.0, powers[row]
        least, shift = np.float64(0.0), np.float64(0.0)
        if power < 0.0:
            least, shift = (
                np.float64(most ** (1.0 / power)),
                _at_smallest(probabilities[row], bits[row], direction[row]),
            )
        for first in range(0, d, PIECE):
            last = min(first + PIECE, d)
            weights = result[row, first:last]
            if any_bits(bits[row, first:last]):
                _weigh(probabilities[row, first:last], power, least, weights)
                weight, product = _sums(weights, direction[row, first:last], shift)
                total, mean = total + weight, mean + product
                pieces[count] = first
                count += 1
            else:
                weights[:] = 0.0
        mean = mean / total if total > 0.0 else 0.0
        for k in range(count):
            first, last = pieces[k], min(pieces[k] + PIECE, d)
            _multiply(result[row, first:last], direction[row, first:last], shift, mean)


@inner
def any_bits(bits: Array) -> bool:
    """Return True if any number is not 0, from their bits, which are faster to compare; -0 counts as not 0."""
    some = bits[0]
    for j in range(bits.shape[0]):
        some |= bits[j]
    return bool(some != 0)


@inner
def _at_smallest(probabilities: Array, bits: Array, direction: Array) -> np.float64:
    """Return the entry of the direction at the smallest positive probability; 0 if there is none."""
    smallest, place, d = np.inf, 0, probabilities.shape[0]
    for first in range(0, d, PIECE):
        last = min(first + PIECE, d)
        if any_bits(bits[first:last]):
            for j in range(first, last):
                if 0.0 < probabilities[j] < smallest:
                    smallest, place = np.float64(probabilities[j]), j
    return np.float64(direction[place] if smallest < np.inf else 0.0)


@inner
def _weigh(probabilities: Array, power: float, least: float, weights: Array) -> None:
    """Write ``max(p, least) ** power`` where p is not 0, and 0 elsewhere; NaN counts as not 0."""
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
            p = np.float64(probabilities[j])
            weights[j] = max(p, least) ** power if p != 0.0 else 0.0


@inner
def _sums(weights: Array, direction: Array, shift: float) -> tuple[float, float]:
    """Return the sums of the weights, and of their products with a direction minus the shift.

    The direction may be infinite where weights are 0.
    """
    total, product = 0.0, 0.0
    for j in range(weights.shape[0]):
        weight, move = np.float64(weights[j]), np.float64(direction[j])
        total += weight
        product += weight * difference(move, shift) if weight != 0.0 else 0.0
    return total, product


@inner
def _multiply(weights: Array, direction: Array, shift: float, mean: float) -> None:
    """Replace weights by their products with the direction minus shift and mean; those of 0 stay 0."""
    for j in range(weights.shape[0]):
        weight, move = np.float64(weights[j]), np.float64(direction[j])
        change = weight * difference(difference(move, shift), mean)
        weights[j] = change if weight != 0.0 else 0.0
