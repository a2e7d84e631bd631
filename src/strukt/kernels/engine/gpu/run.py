"""The launches of Triton kernels for a table and a batch of items."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu import best, growth, inside_outside, kbest, numbers
from strukt.kernels.engine.gpu.charts import Around, Growth, Numbers
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.engine.gpu.tables import Table, Tile

CLEARED = 1024
"""The number of cells, or of weights, that are filled at a time."""


class Run:
    """The launches for one batch.

    Args:
        table: The table of the largest items.
        index: ``(batch,)``, the index of the size of each item; see `backend.Gpu._index`.
        place_scores: ``(batch, places)``, the logs of weights.
        width: The number of float64 numbers reserved for the cells of an item.

    Raises:
        ValueError: If ``width`` is too small.
    """

    def __init__(self, table: Table, index: Tensor, place_scores: Tensor, width: int) -> None:
        if width * 8 < table.cells * (place_scores.element_size() + 4):
            raise ValueError(f"{table.cells} cells do not fit into {width} numbers of float64")
        self.table = table
        self.index = index.contiguous()
        self.place_scores = place_scores.contiguous()
        self.batch = len(place_scores)
        self.count = len(table.places)
        self._width = width

    @cached_property
    def weights(self) -> tuple[Tensor, Tensor]:
        """The mantissas and exponents of all weights."""
        mantissas = self.place_scores.new_empty(self.batch, self.count)
        exponents = self.place_scores.new_empty(self.batch, self.count, dtype=torch.int32)
        self._launch(
            numbers.split, (self.batch, -(-self.count // CLEARED)), self.place_scores, self.table.places,
            self.count, mantissas, exponents, self.place_scores.shape[1], CLEARED,
        )  # fmt: skip
        return mantissas, exponents

    def scores(self) -> Tensor:
        """Return the log of each weight, ``(batch, weights)``."""
        return self.place_scores.index_select(1, self.table.places)

    def numbers(self, memory: Tensor | None = None) -> Numbers:
        """Allocate numbers of all cells, or view them in a memory of float64, ``(batch, width)``."""
        if memory is None:
            memory = self.place_scores.new_empty(self.batch, self._width, dtype=torch.float64)
        memory = memory.contiguous()
        exponents = memory.view(torch.int32)[:, 2 * self._width - self.table.cells :]
        return Numbers(memory, memory.view(self.place_scores.dtype), exponents)

    def inside(self) -> tuple[Tensor, Numbers]:
        """Return the log-partitions ``(batch,)`` and the inside sums of cells."""
        result, chart = self.place_scores.new_empty(self.batch), self.numbers()
        table, tile = self.table, self._fitting(self.table.tile)
        self._launch(
            inside_outside.inside, (self.batch,), *self._rows, table.leaves, len(table.leaves), self.index,
            *self.weights, *chart.pair, result, table.cells, *self._steps(chart), self.count,
            *tile, CLEARED, **_options(tile),
        )  # fmt: skip
        return result, chart

    def outside(self, chart: Numbers, factors: Tensor, keep: bool) -> Around:
        """Return the outside sums of cells, and the uses of weights times ``factors (batch,)``.

        If ``keep``, ``bare`` has the sums without the weights of rows; else it is the same as ``weighted``.
        """
        table, tile, weighted = self.table, self._fitting(self.table.use_tile), self.numbers()
        bare = self.numbers() if keep else weighted
        parts = self.place_scores.new_empty(self.batch, self.count)
        self._launch(
            inside_outside.outside, (self.batch,), *self._rows, *self._cell_uses, self.index, *self.weights,
            *chart.pair, *weighted.pair, *bare.pair, factors.contiguous(), parts, table.cells,
            *self._steps(chart), self.count, keep, *tile, CLEARED, **_options(tile),
        )  # fmt: skip
        if table.weight_starts is not None:
            tile = table.weight_tile
            self._launch(
                inside_outside.weights_of_terms, (self.batch, table.weight_longest.shape[1]), table.ends,
                table.ends.shape[1], *self._weight_uses, self.index, *self.weights, *chart.pair, *weighted.pair,
                factors.contiguous(), parts, *self._steps(chart), self.count, *tile, **_options(tile),
            )  # fmt: skip
        return Around(weighted, bare, parts)

    def grow(self, chart: Numbers, direction: Tensor, other: tuple[Run, Numbers] | None, surprise: bool) -> Growth:
        """Return the growth of cells along ``direction (batch, weights)``.

        If ``surprise``, each choice of a term adds its surprise: under the weights of ``other``, a run and its
        chart, or of this run if it is None.
        """
        table, tile = self.table, _half(_half(self.table.tile))  # growths are always float64
        theirs, their_chart = other or (self, chart)
        cells = self.place_scores.new_empty(self.batch, table.cells, dtype=torch.float64)
        bases = self.numbers() if surprise else chart
        rest = self.place_scores.new_empty(cells.shape) if surprise else cells
        total = cells.new_empty(self.batch)
        self._launch(
            growth.inside, (self.batch,), *self._rows, self.index, *self.weights, *chart.pair, *theirs.weights,
            *their_chart.pair, *bases.pair, direction, cells, rest, total, table.cells, *self._steps(chart),
            self.count, surprise, *tile, CLEARED, **_options(tile),
        )  # fmt: skip
        return Growth(direction, cells, rest, bases, total, theirs.weights, their_chart, surprise)

    def change(self, chart: Numbers, around: Around, grown: Growth) -> Tensor:
        """Return the derivative of the uses of weights, ``(batch, weights)``, along the direction of ``grown``.

        It is the use times its growth: the growths of inside and outside, less that of the total.
        ``around`` is the result of `outside` with ``keep``, and ``grown`` that of `grow`.
        """
        table, tile = self.table, _half(self._fitting(self.table.use_tile))
        changes, outer = torch.empty_like(around.parts), torch.empty_like(grown.cells)
        shared = (
            *grown.weights, *grown.chart.pair, *grown.bases.pair, grown.direction, grown.cells, grown.rest,
        )  # fmt: skip
        self._launch(
            growth.outside, (self.batch,), *self._rows, *self._cell_uses[1:], self.index, *self.weights,
            *chart.pair, *around.weighted.pair, *around.bare.pair, *shared, outer, around.parts, changes,
            table.cells, *self._steps(chart), self.count, grown.surprise, *tile, CLEARED, **_options(tile),
        )  # fmt: skip
        if table.weight_starts is not None:
            tile = table.weight_tile
            self._launch(
                growth.weights_of_terms, (self.batch, table.weight_longest.shape[1]), *self._weight_uses,
                *chart.pair, *around.weighted.pair, *shared, outer, grown.total, around.parts,
                changes, table.cells, *self._steps(chart), self.count, grown.surprise, *tile, **_options(tile),
            )  # fmt: skip
        return changes

    def best(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logs of weights and the best scores of cells and of items.

        The shapes are ``(batch, weights)``, ``(batch, cells)`` and ``(batch,)``.
        """
        table, tile, weight_scores = self.table, self._fitting(self.table.tile), self.scores()
        values, result = weight_scores.new_empty(self.batch, table.cells), weight_scores.new_empty(self.batch)
        self._launch(
            best.inside, (self.batch,), *self._rows, table.leaves, len(table.leaves), self.index, weight_scores,
            values, result, table.cells, self.count, *tile, CLEARED, **_options(tile),
        )  # fmt: skip
        return weight_scores, values, result

    def max_marginals(self) -> Tensor:
        """Return, for each weight, the best score of a structure that uses it, ``(batch, weights)``."""
        table, tile = self.table, self._fitting(self.table.use_tile)
        weight_scores, values, _ = self.best()
        around, result = torch.empty_like(values), torch.empty_like(weight_scores)
        self._launch(
            best.outside, (self.batch,), *self._rows, *self._cell_uses, self.index, weight_scores, values,
            around, result, table.cells, self.count, *tile, CLEARED, **_options(tile),
        )  # fmt: skip
        if table.weight_starts is not None:
            tile = table.weight_tile
            self._launch(
                best.weights_of_terms, (self.batch, table.weight_longest.shape[1]), *self._weight_uses,
                weight_scores, values, around, result, table.cells, self.count, *tile, **_options(tile),
            )  # fmt: skip
        return result

    def best_weights(self) -> tuple[Tensor, Tensor]:
        """Return the weights of a best structure, int8 ``(batch, 1, weights)``, and its score ``(batch,)``.

        A weight is 1 if it is used, else 0. If there is no structure, all are 0 and the score is -inf.
        """
        weight_scores, values, result = self.best()
        seeds = self.index.new_zeros(self.batch)
        powers = self.index.new_empty(1, dtype=torch.int32)
        used = self._choose((weight_scores, powers), (values, powers), (values.stride(0), 0), seeds, 1, False)
        return used, result

    def kbest_weights(self, k: int, features: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return marks of the weights of the k best structures ``(batch, k, weights)``, and scores ``(batch, k)``.

        The mark of a weight is 0 if it is not used; else 1, plus the code of its values if there are ``features
        (batch, places, features, values)``. Marks are int64 with features, else int8. Scores have the type of the
        place scores; they are -inf beyond the last structure.
        """
        table, extent = self.table, self.table.extent
        weight_scores, cells, top = self.best()
        scored = weight_scores if features is None else features.contiguous()
        count, values = (0, 1) if features is None else features.shape[2:]
        choices, longest = max(extent.choices + count * extent.used, 1), max(table.longest, values)
        best_scores = weight_scores.new_full((self.batch, k), -torch.inf)
        scores = torch.empty_like(best_scores)
        used = self.index.new_zeros(self.batch, k, self.count, dtype=torch.int64 if count else torch.int8)
        codes = self.index.new_empty(self.batch, k, dtype=torch.int64)

        def workspace(*shape: int) -> Tensor:
            return self.index.new_empty(self.batch, *shape, dtype=torch.int32)

        terms, slots = block(table.longest), block(k - 1)
        self._launch(
            kbest.kbest, (self.batch,), table.rows, table.rows.shape[1], table.ends, table.ends.shape[1],
            table.maker, self.index, weight_scores, cells, top, scored, table.places,
            workspace(extent.waiting + 1), workspace(k, choices), workspace(max(extent.used, 1)), scores, codes,
            used, best_scores, table.cells, self.count, scored.stride(0), extent.waiting + 1, choices,
            max(extent.used, 1), longest, k, count, values, terms, block(values), slots,
            num_warps=min(max(terms, slots) // 32, 8),
        )  # fmt: skip
        return used, best_scores

    def drawn_weights(self, chart: Numbers, number: int) -> Tensor:
        """Return the weights of samples, int8 ``(batch, number, weights)``: 1 if used, else 0."""
        size = (self.batch, number)
        seeds = torch.randint(torch.iinfo(torch.int64).max, size, device=self.place_scores.device)
        return self._choose(self.weights, chart.pair, self._steps(chart), seeds, number, True)

    def _choose(
        self, weights: tuple[Tensor, Tensor], cells: tuple[Tensor, Tensor], steps: tuple[int, int], seeds: Tensor,
        number: int, random: bool,
    ) -> Tensor:  # fmt: skip
        """Return the weights of structures, int8 ``(batch, number, weights)``: 1 if used, else 0.

        The structures are samples if ``random``, else a best one.
        """
        table, tile = self.table, _half(self._fitting(self.table.tile))
        chosen = self.place_scores.new_empty(self.batch, number, table.cells, dtype=torch.int8)
        used = self.place_scores.new_empty(self.batch, number, self.count, dtype=torch.int8)
        if number:
            self._launch(
                best.choose, (self.batch * number,), *self._rows, table.same, self.index, seeds, *weights, *cells,
                chosen, used, table.cells, *steps, self.count, table.longest, number, random, *tile, CLEARED,
                **_options(tile),
            )  # fmt: skip
        return used

    @property
    def _rows(self) -> tuple[Any, ...]:
        """The arguments of kernels for rows, stages and ends, each with its number of columns."""
        table = self.table
        each = (table.rows, table.stages, table.ends)
        return tuple(value for array in each for value in (array, array.shape[1]))

    @property
    def _cell_uses(self) -> tuple[Any, ...]:
        """The arguments of kernels for the originals of cells and for their uses."""
        return self.table.same, self.table.starts, self.table.runs, self.table.runs.shape[1]

    @property
    def _weight_uses(self) -> tuple[Any, ...]:
        """The arguments of kernels for the uses of the weights of single terms."""
        starts, runs = self.table.weight_starts, self.table.weight_runs
        table = self.table
        return (
            starts, runs, runs.shape[1], table.weight_order, len(table.weight_order),  # type: ignore[union-attr]
            table.weight_longest.shape[0], table.weight_longest, table.weight_longest.shape[1],
        )  # fmt: skip

    def _launch(self, kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: int) -> None:
        """Launch a kernel on the device of the tensors, which need not be the current one."""
        with device_of(self.place_scores):
            launcher(kernel, grid)(*arguments, **options)

    def _fitting(self, tile: Tile) -> Tile:
        """Return a tile that fits into registers: numbers of float64 take twice the space."""
        return _half(tile) if self.place_scores.dtype == torch.float64 else tile

    def _steps(self, each: Numbers) -> tuple[int, int]:
        """Return the steps from one item to the next, in mantissas and in exponents."""
        return each.mantissas.stride(0), each.exponents.stride(0)


def block(size: int) -> int:
    """Return the size of a block for this many numbers; more numbers take several blocks."""
    return min(max(1 << max(size - 1, 0).bit_length(), 32), 1024)


def _options(tile: Tile) -> dict[str, int]:
    """Return launch options: the warps of a tile."""
    warps = 16 if tile.rows * tile.terms > (1024 if tile.tall else 2048) else 8
    return {"num_warps": warps}


def _half(tile: Tile) -> Tile:
    """Return a tile of half as many rows, for kernels that keep many values in registers."""
    return tile._replace(rows=max(tile.rows // 2, 1))
