"""The uses of cells and weights, so that kernels gather outside sums instead of scattering them.

Scattering needs atomic additions, which are slow and not deterministic. A use is a term with the cell or the
weight as a factor. It has three numbers, or columns: the row of the term, as its cell ``out``, and the two other
factors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, Program
from strukt.kernels.engine.sizes import rows_of
from strukt.kernels.interpreted import current
from strukt.kernels.jit import kernel


class Uses(NamedTuple):
    """The uses of each cell, or of each weight, as runs of uses whose columns have constant strides.

    Attributes:
        starts: ``(things + 1,)``; cell or weight t has the runs ``starts[t]`` to ``starts[t + 1] - 1``.
        runs: ``(7, runs)``: first entry and stride of each of the three columns, then the length. A column with a
            negative first entry is absent.
    """

    starts: Array
    runs: Array


def of_cells(program: Program) -> Uses:
    """Return the uses of cells that rows make; the columns are the row, the other cell, the weight of the term.

    A cell that is a copy (mirror) has none; its uses are those of the original.
    """
    out, left, right, each = _terms(program)
    same = originals(program)
    both = right >= 0
    used = np.concatenate([same[left], same[right[both]]])
    columns = [
        np.concatenate(pair) for pair in ((out, out[both]), (right, left[both]), (each, each[both]))
    ]
    made = program.maker[used] >= 0
    return _runs(program, used[made], [column[made] for column in columns], 2, len(program.maker))


def of_weights(program: Program) -> Uses:
    """Return the uses of the weights of single terms; the columns are the row and the two cells of the term."""
    out, left, right, each = _terms(program)
    some = each >= 0
    return _runs(program, each[some], [out[some], left[some], right[some]], 3, len(program.places))


def originals(program: Program) -> Array:
    """Return, for each cell, the one that it is a copy of, or itself."""
    same = np.arange(len(program.maker), dtype=np.int32)
    same[program.rows[:, MIRROR]] = program.rows[:, OUT]
    return same


def _terms(program: Program) -> tuple[Array, Array, Array, Array]:
    """Return, for every term, the ``out`` of its row, its left and right cell and its weight, ``(terms,)`` each.

    Missing factors are -1. The row that `ProgramBuilder.build` may add for the total is left out.
    """
    rows = rows_of(program)
    counts = rows[:, COUNT]
    row = np.repeat(np.arange(len(rows)), counts)
    k = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    left, right, each = (
        np.where(rows[row, column] >= 0, rows[row, column] + k, -1) for column in (LEFT, RIGHT, EACH)
    )
    return rows[row, OUT], left, right, each


def _runs(program: Program, used: Array, columns: list[Array], cell_columns: int, things: int) -> Uses:
    """Join the uses of each thing to runs, the longest first.

    ``used (uses,)`` is the thing of each use, and ``columns`` are ``(uses,)`` each. The first ``cell_columns`` of
    them are cells, which their copies may replace.
    """
    order = np.lexsort((columns[0], used))
    used, columns = used[order], [column[order] for column in columns]
    twins = np.arange(len(program.maker), dtype=np.int32)
    twins[program.rows[:, OUT]], twins[program.rows[:, MIRROR]] = program.rows[:, MIRROR], program.rows[:, OUT]
    for place in range(cell_columns):
        columns[place] = _side_by_side(used, columns[place], twins)
    starts, runs = current(_join)(used.astype(np.int32), np.stack(columns).astype(np.int32), things)
    of = np.repeat(np.arange(things), np.diff(starts))
    return Uses(starts, runs[:, np.lexsort((-runs[-1], of))])  # runs j of neighbours have similar lengths


def _side_by_side(used: Array, cells: Array, twins: Array) -> Array:
    """Return cells, replaced by their copies where only the copies are contiguous in the uses of a thing.

    ``used`` and ``cells`` are ``(uses,)``, and ``twins (cells,)`` is the copy or the original of each cell.
    """
    copies = np.where(cells >= 0, twins[cells], -1)

    def are_near(numbers: Array) -> Array:
        near = (np.abs(np.diff(numbers)) == 1) & (used[1:] == used[:-1])
        return np.append(near, False) | np.insert(near, 0, False)  # type: ignore[no-any-return]

    return np.where(are_near(copies) & ~are_near(cells), copies, cells)


def longest(uses: Uses) -> Array:
    """Return the length of each run of each thing, ``(most runs, things)``; 0 if it has fewer."""
    counts = np.diff(uses.starts)
    lengths = np.zeros((int(counts.max(initial=0)), len(counts)), np.int64)
    of = np.repeat(np.arange(len(counts)), counts)
    lengths[np.arange(len(of)) - uses.starts[of], of] = uses.runs[-1]
    return lengths


@kernel
def _join(used: Array, columns: Array, things: int) -> tuple[Array, Array]:
    """Join successive uses of one thing with constant strides.

    Arrays: ``used (uses,)``, the thing of each use, ascending, and ``columns (3, uses)``. Returns ``starts
    (things + 1,)``, and ``runs (7, runs)``: first entry and stride of each column, and the length.
    """
    starts = np.zeros(things + 1, np.int32)
    runs = np.empty((7, used.shape[0]), np.int32)
    count, i = 0, 0
    while i < used.shape[0]:
        length = 1
        while i + length < used.shape[0] and used[i + length] == used[i] and _goes_on(columns, i, length):
            length += 1
        for column in range(3):
            runs[2 * column, count] = columns[column, i]
            stride = columns[column, i + 1] - columns[column, i] if length > 1 else 0
            runs[2 * column + 1, count] = stride
        runs[6, count] = length
        count += 1
        starts[used[i] + 1] = count
        i += length
    for thing in range(things):
        starts[thing + 1] = max(starts[thing + 1], starts[thing])
    return starts, runs[:, :count].copy()


@kernel
def _goes_on(columns: Array, first: int, length: int) -> bool:
    """Return True if the use ``first + length`` continues the strides of the run of this length from ``first`` on.

    Columns that are absent in the run must be absent in the use, too.
    """
    for column in range(3):
        start, value = columns[column, first], columns[column, first + length]
        if (start < 0) != (value < 0):
            return False
        if value - columns[column, first + length - 1] != columns[column, first + 1] - start:
            return False
    return True
