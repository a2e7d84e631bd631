"""Programs on a device, as Triton kernels take them, cached by size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array, are_distinct
from strukt.kernels.engine.array_cache import DeviceCache
from strukt.kernels.engine.gpu import uses
from strukt.kernels.engine.program import COUNT, LEFT, MIRROR, OUT, RIGHT, WEIGHT, Program
from strukt.kernels.engine.sizes import needs_of, places_of, rows_of
from strukt.kernels.engine.walk import extent
from strukt.kernels.interpreted import current
from strukt.kernels.jit import kernel

SMALLEST, LARGEST = 512, 4096
"""The bounds of the number of entries in a tile: few threads should idle, and registers must suffice."""


class Tile(NamedTuple):
    """The number of rows that are processed at a time, and of terms of each.

    A tile is tall if neighbouring threads take neighbouring rows, else they take neighbouring terms of a row.
    """

    rows: int
    terms: int
    tall: bool


class Extent(NamedTuple):
    """The largest numbers of choices and weights of a structure, and of cells that wait on a walk through it."""

    choices: int
    used: int
    waiting: int


class Table(NamedTuple):
    """A program for items of all sizes up to one.

    Attributes:
        rows: ``(8, rows)``, the columns of `Program.rows`, and the smallest size that needs the row.
        stages: ``(3 + most runs, stages + 1)``, for each stage its first row (followed by that of the next stage);
            the largest number of terms of a row; the largest number of runs in which one of its cells is used; and
            the longest of the first of these runs, of the second, and so on.
        ends: ``(4, sizes)``: the columns of `Program.ends`, and the number of stages that a size needs.
        leaves: The cells that are 1.
        maker: ``(cells,)``, the row that makes each cell; -1 if none does.
        same: ``(cells,)``, the cell that each cell is a copy of, or itself.
        starts, runs: The uses of cells; see `uses.Uses`.
        weight_starts, weight_runs: The uses of weights of single terms; None if they are not needed.
        weight_order: These weights, those with most uses first.
        weight_longest: ``(most runs, tiles)``, for each tile of these weights the longest of their first runs, of
            their second runs, and so on.
        places: ``(weights,)``, the place of each weight's score in the row of an item.
        distinct: Whether no place has two weights.
        cells: The number of cells.
        longest: The largest number of terms of a row, or of a total.
        extent: The bounds of a walk through a structure.
        tile, use_tile, weight_tile: The tiles of rows, of cells and their uses, and of weights and theirs.
    """

    rows: Tensor
    stages: Tensor
    ends: Tensor
    leaves: Tensor
    maker: Tensor
    same: Tensor
    starts: Tensor
    runs: Tensor
    weight_starts: Tensor | None
    weight_runs: Tensor | None
    weight_order: Tensor
    weight_longest: Tensor
    places: Tensor
    distinct: bool
    cells: int
    longest: int
    extent: Extent
    tile: Tile
    use_tile: Tile
    weight_tile: Tile


class Tables:
    """The tables of one recursion, cached.

    Args:
        build: ``build(*sizes)`` writes the program.
        scored_terms: Whether the uses of weights of single terms are needed.
    """

    def __init__(self, build: Callable[..., Program], scored_terms: bool) -> None:
        self.build = build
        self._scored_terms = scored_terms
        self._cache: DeviceCache[Table] = DeviceCache()

    def get(self, sizes: Sequence[Any], shape: Sequence[int], device: torch.device) -> Table:
        """Return the table of items up to some sizes, the arguments of ``build``.

        ``shape`` has the sizes of the axes of places of the main scores.
        """

        def made() -> Table:
            return make(self.build(*sizes), shape, device, self._scored_terms)

        return self._cache.get_on(device, (*sizes, *shape), made)


def make(program: Program, shape: Sequence[int], device: torch.device, scored_terms: bool) -> Table:
    """Build the table of a program on a device; the arguments are those of `Tables`.

    Raises:
        ValueError: If two rows multiply their sums by the same weight.
    """
    rows, ends = rows_of(program), program.ends
    whole = rows[rows[:, WEIGHT] >= 0, WEIGHT]
    if not are_distinct(whole):
        raise ValueError("two sums share a weight; kernels for GPUs need one for each, which may share a place")
    _, firsts = np.unique(program.stages, return_index=True)
    bounds = np.append(firsts, len(rows)).astype(np.int32)
    stage = np.repeat(np.arange(len(firsts)), np.diff(bounds))
    (needs, _), needed = needs_of(program), current(_stages_needed)(ends, program.maker, stage)
    cells, weights = uses.of_cells(program), uses.of_weights(program)
    places = places_of(program, shape)

    def on_device(array: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    some_weights = scored_terms and weights.runs.shape[1] > 0
    weight_tile = _tile(weights.runs.shape[1], weights.runs[-1], _are_in_rows(weights.runs), LARGEST // 4)
    order, weight_longest = _in_order(weights, weight_tile.rows)
    run_lengths = uses.longest(cells)
    columns = (rows[:, COUNT], np.diff(cells.starts)[rows[:, OUT]], *run_lengths[:, rows[:, OUT]])
    stages = np.stack([bounds, *(_at_each(bounds, column) for column in columns)])
    wide = len(rows) / max(len(firsts), 1)
    return Table(
        on_device(np.concatenate([rows.T, needs[None]]).astype(np.int32)), on_device(stages.astype(np.int32)),
        on_device(np.concatenate([ends.T, needed[None]]).astype(np.int32)),
        on_device(program.leaves.astype(np.int64)), on_device(program.maker.astype(np.int32)),
        on_device(uses.originals(program)), on_device(cells.starts), on_device(cells.runs),
        on_device(weights.starts) if some_weights else None, on_device(weights.runs) if some_weights else None,
        on_device(order), on_device(weight_longest), on_device(places), are_distinct(places),
        len(program.maker), int(max(rows[:, COUNT].max(initial=1), ends[:, 2].max(initial=1))),
        _extent_of(program), _tile(wide, rows[:, COUNT], True),
        _tile(wide, cells.runs[-1], _are_in_rows(cells.runs)), weight_tile,
    )  # fmt: skip


def _extent_of(program: Program) -> Extent:
    """Return the bounds of walks from the total of any size."""
    first, ends = len(program.maker), program.ends
    totals = np.full((len(ends), program.rows.shape[1]), -1, np.int32)
    totals[:, OUT] = totals[:, MIRROR] = first + np.arange(len(ends))
    totals[:, [LEFT, RIGHT, COUNT]] = ends
    sizes = current(extent)(np.concatenate([program.rows, totals]), first + len(ends), program.degrees)
    return Extent(*sizes[first:, :3].max(0).tolist())


def _tile(wide: float, lengths: Array, in_rows: bool, largest: int = LARGEST) -> Tile:
    """Return a tile for about ``wide`` runs at a time, of these lengths; tiles take about equal time.

    It is tall if runs are short, or not contiguous (``in_rows``). ``largest`` bounds the number of its entries.
    """
    deep = lengths.mean() if len(lengths) else 1
    tall = bool(deep < 8) or not in_rows
    terms = min(_power_of_two(deep), 16 if tall else 64)
    largest = min(largest, LARGEST // 2) if tall else largest
    return Tile(min(max(_power_of_two(wide), SMALLEST // terms), largest // terms), terms, tall)


def _in_order(weights: uses.Uses, size: int) -> tuple[Array, Array]:
    """Return the weights that have uses, those with most uses first, and `Table.weight_longest`.

    ``size`` is the number of weights in a tile.
    """
    longest = uses.longest(weights)
    order = np.argsort(-longest.sum(0), kind="stable")[: np.count_nonzero(np.diff(weights.starts))]
    tiles = np.arange(0, len(order), size)
    sorted_ = longest[:, order]
    result = np.maximum.reduceat(sorted_, tiles, axis=1) if len(tiles) else sorted_
    return order.astype(np.int32), result.astype(np.int32)


def _are_in_rows(runs: Array) -> bool:
    """Return True if most uses are in runs with strides of at most 1, given ``runs (7, runs)`` of `uses.Uses`."""
    near = (np.abs(runs[1:6:2]) <= 1).all(0)
    return bool((near * runs[-1]).sum() * 2 > runs[-1].sum())


def _power_of_two(least: float) -> int:
    """Return the smallest power of two, 1 or more, that is at least a number."""
    return 1 << max(int(np.ceil(least)) - 1, 0).bit_length()


@kernel
def _stages_needed(ends: Array, maker: Array, stage: Array) -> Array:
    """Return the number of stages that each size needs: up to the last one that makes a cell of its total.

    Arrays: ``ends (sizes, 3)`` and ``maker (cells,)`` as in `Program`, ``stage (rows,)``, and the result
    ``(sizes,)``.
    """
    needed = np.zeros(ends.shape[0], np.int32)
    for size in range(ends.shape[0]):
        for side in range(2 if ends[size, 1] >= 0 else 1):
            for k in range(ends[size, 2]):
                row = maker[ends[size, side] + k]
                if 0 <= row < stage.shape[0]:
                    needed[size] = max(needed[size], stage[row] + 1)
    return needed


def _at_each(bounds: Array, column: Array) -> Array:
    """Return the largest entry of ``column (rows,)`` in each stage, and a final 0.

    ``bounds (stages + 1,)`` are the first rows of stages, and the number of rows.
    """
    result = np.zeros(len(bounds), np.int64)
    if len(column):
        result[:-1] = np.maximum.reduceat(column, bounds[:-1])
    return result
