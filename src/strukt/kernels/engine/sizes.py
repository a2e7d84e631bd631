"""The rows and weights that items of each size need, up to the size of the program."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, RIGHT, WEIGHT, Program
from strukt.kernels.interpreted import current
from strukt.kernels.jit import kernel


def needs_of(program: Program) -> tuple[Array, Array]:
    """Return the index in `Program.ends` of the smallest size that needs each row, and each weight.

    The index is the number of sizes if no size needs it.
    """
    rows = program.rows[: len(program.stages)]
    needs = current(_needs)(rows, program.maker, program.ends)
    return needs, current(_of_weights)(rows, needs, len(program.places), len(program.ends))


@kernel
def _needs(rows: Array, maker: Array, ends: Array) -> Array:
    """Return, for each row, the first size that needs it, ``(rows,)``.

    ``rows (rows, 7)``, ``maker (cells,)`` and ``ends (sizes, 3)`` as in `Program`.
    """
    none = ends.shape[0]
    needs = np.full(rows.shape[0], none, np.int32)
    for size in range(none):
        for side in range(2 if ends[size, 1] >= 0 else 1):
            for k in range(ends[size, 2]):
                row = maker[ends[size, side] + k]
                if 0 <= row < rows.shape[0]:
                    needs[row] = min(needs[row], size)
    for s in range(rows.shape[0] - 1, -1, -1):
        for k in range(rows[s, COUNT]):
            row = maker[rows[s, LEFT] + k]
            if row >= 0:
                needs[row] = min(needs[row], needs[s])
            if rows[s, RIGHT] >= 0:
                row = maker[rows[s, RIGHT] + k]
                if row >= 0:
                    needs[row] = min(needs[row], needs[s])
    return needs


@kernel
def _of_weights(rows: Array, needs: Array, weights: int, none: int) -> Array:
    """Return, for each weight, the first size that needs a row with it, ``(weights,)``.

    ``rows (rows, 7)`` as in `Program`, ``needs (rows,)`` from `_needs`.
    """
    result = np.full(weights, none, np.int32)
    for s in range(rows.shape[0]):
        if rows[s, WEIGHT] >= 0:
            result[rows[s, WEIGHT]] = min(result[rows[s, WEIGHT]], needs[s])
        if rows[s, EACH] >= 0:
            for k in range(rows[s, COUNT]):
                result[rows[s, EACH] + k] = min(result[rows[s, EACH] + k], needs[s])
    return result
