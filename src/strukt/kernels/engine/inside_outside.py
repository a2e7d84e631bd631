"""Inside-outside: a forward pass sums over structures, a backward pass computes expected uses of weights.

The arguments of kernels that a docstring does not describe are those of `inside`. A row is passed as its columns
(see `Program`); ``whole`` is the weight of the sum, ``each`` the first of the weights of its terms.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT
from strukt.kernels.engine.rings import (
    HIGH,
    LEAST,
    LOG_TWO,
    LOW,
    NOTHING,
    extended_sum,
    settled,
    share_out,
    shares,
)
from strukt.kernels.jit import inner, kept_apart


@inner
def inside(
    rows: Array, leaves: Array, weight: Array, power: Array | None, value: Array, exponent: Array | None,
    workspace: Array, powers: Array,
) -> None:  # fmt: skip
    """Fill the cells with inside sums: the total of the subproblem of each cell.

    Args:
        rows: The rows of the program.
        leaves: The leaves of the program.
        weight: ``(weights,)``, the weights, or their mantissas.
        power: ``(weights,)``, their exponents; None in plain numbers.
        value: ``(cells,)``, the result: the sums, or their mantissas.
        exponent: ``(cells,)``, the result: their exponents; None in plain numbers.
        workspace: ``(terms,)``, overwritten; as long as the longest row.
        powers: ``(terms,)``, overwritten with exponents.
    """
    kept_apart()
    value[:] = 0.0
    value[leaves] = 1.0
    if exponent is not None:
        exponent[:] = NOTHING
        exponent[leaves] = 0
    if exponent is None or power is None:
        _plain_inside(rows, weight, value)
        return
    for s in range(rows.shape[0]):
        out, mirror, left, right = rows[s, OUT], rows[s, MIRROR], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        total, top = extended_sum(value, exponent, weight, power, left, right, each, count, workspace, powers)
        if whole >= 0:
            total *= weight[whole]
            top += power[whole]
        value[out], exponent[out] = settled(total, top)
        value[mirror], exponent[mirror] = value[out], exponent[out]


@inner
def _plain_inside(rows: Array, weight: Array, value: Array) -> None:
    """Fill all cells but the leaves with inside sums, in plain numbers.

    This loop takes more time than any other, so all its indices are unsigned (see `strukt.kernels.engine.rings`).
    """
    for s in range(rows.shape[0]):
        left, count = np.uint64(rows[s, LEFT]), np.uint64(rows[s, COUNT])
        right, each = np.uint64(rows[s, RIGHT]), np.uint64(rows[s, EACH])
        total = 0.0
        if rows[s, COUNT] == 1:
            total = value[left]
            if rows[s, RIGHT] >= 0:
                total *= value[right]
            if rows[s, EACH] >= 0:
                total *= weight[each]
        elif rows[s, EACH] < 0:
            for k in range(count):
                total += value[left + k] * value[right + k]
        elif rows[s, RIGHT] < 0:
            for k in range(count):
                total += value[left + k] * weight[each + k]
        else:
            for k in range(count):
                total += value[left + k] * value[right + k] * weight[each + k]
        if rows[s, WEIGHT] >= 0:
            total *= weight[np.uint64(rows[s, WEIGHT])]
        value[np.uint64(rows[s, OUT])] = total
        value[np.uint64(rows[s, MIRROR])] = total


@inner
def better_constant(rows: Array, degree: Array, value: Array, constant: float) -> float:
    """Return the constant to subtract per degree for which the last cell that is in range now would be 1.

    ``degree (cells,)`` is the sum of degrees below each cell. If no cell is in range, the constant is unchanged.
    """
    for s in range(rows.shape[0] - 1, -1, -1):
        result = value[rows[s, OUT]]
        if LOW < result < HIGH and degree[rows[s, OUT]] > 0:
            return float(constant + np.log(result) / degree[rows[s, OUT]])
    return constant


@inner
def log_total(value: Array, exponent: Array | None, top: int) -> float:
    """Return the log of cell ``top``; -inf for 0."""
    if value[top] == 0.0:
        return -np.inf
    log = np.log(value[top])
    if exponent is not None:
        log += exponent[top] * LOG_TWO
    return log  # type: ignore[no-any-return]


@inner
def _share_pairs(rate: float, value: Array, mass: Array, left: int, right: int, count: int) -> None:
    """Add, for each term of a row, ``rate`` times its value to ``mass`` at its two cells.

    The rate is the mass of the row divided by its sum. Most rows are like these: plain, without weights of terms.
    """
    a, b = np.uint64(left), np.uint64(right)
    for k in range(np.uint64(count)):
        share = rate * value[a + k] * value[b + k]
        mass[a + k] += share
        mass[b + k] += share


@inner
def outside(
    rows: Array, top: int, weight: Array, power: Array | None, value: Array, exponent: Array | None,
    workspace: Array, powers: Array, mass: Array, parts: Array,
) -> None:  # fmt: skip
    """Write the expected use of every cell, ``mass (cells,)``, and of every weight, ``parts (weights,)``.

    It is the expected number of times that a structure uses the cell or the weight, which for a weight is its
    probability. A cell and its mirror both get the sum of their uses. ``top`` is the cell of the total, which must
    not be 0; ``value`` and ``exponent`` are the result of `inside`.
    """
    kept_apart()
    mass[:] = 0.0
    parts[:] = 0.0
    mass[top] = 1.0
    for s in range(rows.shape[0] - 1, -1, -1):
        out, mirror, left, right = rows[s, OUT], rows[s, MIRROR], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        total = mass[out]
        if mirror != out:
            total += mass[mirror]
            mass[out] = mass[mirror] = total
        if total == 0.0:
            continue
        if whole >= 0:
            parts[whole] += total
        if count == 1:
            mass[left] += total
            if right >= 0:
                mass[right] += total
            if each >= 0:
                parts[each] += total
            continue
        if exponent is None and each < 0 and value[out] >= LEAST:
            rate = total * weight[whole] / value[out] if whole >= 0 else total / value[out]
            _share_pairs(rate, value, mass, left, right, count)
            continue
        shares(value, exponent, weight, power, out, whole, left, right, each, count, workspace, powers)
        for k in range(count):
            workspace[k] *= total
        share_out(left, right, each, count, workspace, mass, parts)
