"""Programs for items of all sizes: the rows of stages and totals, and the rows and weights that a size needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, RIGHT, WEIGHT, Program
from strukt.kernels.interpreted import current
from strukt.kernels.jit import kernel


def rows_of(program: Program) -> Array:
    """Return the rows of a program without the one that `ProgramBuilder.build` may add for the total."""
    return program.rows[: len(program.stages)]


def by_stage(program: Program) -> list[Array]:
    """Return the rows of each stage, in order; see `rows_of`."""
    rows = rows_of(program)
    return np.split(rows, np.flatnonzero(np.diff(program.stages)) + 1) if len(rows) else []


def rows_of_ends(program: Program) -> Array:
    """Return the totals of all sizes as rows ``(1 + sizes, 7)``, first that of size 0.

    That total is 1, the weight of the single empty structure: it is stated as a cell after the last one, to which
    the caller gives the value 1. The columns out, mirror, weight and each are -1.
    """
    left, right, terms = np.concatenate([[[len(program.maker), -1, 1]], program.ends]).T
    none = np.full_like(left, -1)
    return np.stack([none, none, left, right, terms, none, none], 1)


def places_of(program: Program, shape: Sequence[int]) -> Array:
    """Return the place of each weight's score among the flat main scores of an item, ``(weights,)``.

    ``shape`` is that of the places of the scores; it is ignored if `Program.places` has one axis.
    """
    flat = program.places.shape[1] == 1  # places in a row, for scores of any shape
    strides = np.ones(1, np.int64) if flat else np.cumprod([1, *reversed(shape[1:])])[::-1]
    return (program.places @ strides).astype(np.int64)


def needs_of(program: Program) -> tuple[Array, Array]:
    """Return the index in `Program.ends` of the smallest size that needs each row, and each weight.

    The index is the number of sizes if no size needs it.
    """
    rows = rows_of(program)
    needs = current(_needs)(rows, program.maker, program.ends)
    return needs, current(_of_weights)(rows, needs, len(program.places), len(program.ends))


@kernel
def _needs(rows: Array, maker: Array, ends: Array) -> Array:
    """Return, for each row, the index of the first size that needs it, ``(rows,)``.

    The index is the number of sizes if none needs it. ``rows (rows, 7)``, ``maker (cells,)`` and ``ends (sizes,
    3)`` are those of `Program`.
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
    """Return, for each weight, the index of the first size that needs a row with it, ``(weights,)``.

    The index is ``none`` if no size does. ``rows (rows, 7)`` are those of `Program`, and ``needs (rows,)`` is the
    result of `_needs`.
    """
    result = np.full(weights, none, np.int32)
    for s in range(rows.shape[0]):
        if rows[s, WEIGHT] >= 0:
            result[rows[s, WEIGHT]] = min(result[rows[s, WEIGHT]], needs[s])
        if rows[s, EACH] >= 0:
            for k in range(rows[s, COUNT]):
                result[rows[s, EACH] + k] = min(result[rows[s, EACH] + k], needs[s])
    return result
