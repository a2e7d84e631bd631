"""Tables of structures with kernels of their own.

They provide operators that these kernels lack, and the results of items that underflow in them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import as_tuple
from strukt.kernels.engine import items
from strukt.kernels.engine.backend import RowBackend, shapes_of
from strukt.kernels.engine.groups import EXTENDED_RING, by_ring, on_items
from strukt.kernels.engine.operators import TableOperators
from strukt.kernels.engine.program import Program
from strukt.kernels.memory import empty


class Flat(TableOperators, ABC):
    """The table of a structure whose kernels have charts of their own, so that its cells are always recomputed."""

    def _run_rings(
        self, kernel: Callable[..., None], scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any],
        rows: Array, chart: Tensor, *arrays: Array,
    ) -> None:  # fmt: skip
        groups = self._groups(scores, lengths, options)
        cells = max((len(table.maker) for table, _ in groups), default=0)
        charts = empty((len(rows), items.HEAD + cells))
        on_items(items.totals, groups, None, rows, charts, np.empty(len(rows)))
        for each, ring in by_ring(groups, charts[:, 0]):
            on_items(kernel, each, ring, rows, charts, *arrays)


class FlatPairs(Flat, RowBackend):
    """The backend of a structure with main scores and scores of pairs, which several items may share.

    The row of an item has its main scores, from ``(batch, ...)``, then those of pairs, from ``(g, ...)``, where
    consecutive batch / g items share an entry. The program of an item is ``build(n, *constants, *shapes)``: its
    length, its constants (other lengths, passed to operators as ``(batch,)`` each), and the shapes of both tensors
    without the batch. ``cells`` takes the same for the largest item, and bounds the number of its cells.
    """

    def __init__(self, build: Callable[..., Program], cells: Callable[..., int], event_dim: int = 1) -> None:
        RowBackend.__init__(self, build, cells, scores=2, event_dim=event_dim)

    def chart_shape(self, *arguments: Any) -> tuple[int, int]:
        scores, _, constants = self._split(arguments)
        largest = scores[0].shape[1 : 2 + len(constants)]
        return len(scores[0]), items.HEAD + self._cells(*largest, *shapes_of(scores))

    def _sizes(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> list[tuple[Any, ...]]:
        each = zip(lengths.tolist(), *(constant.tolist() for constant in options), strict=True)
        return [(*numbers, *shapes_of(scores)) for numbers in each]


class ExtendedPairs(FlatPairs):
    """A `FlatPairs` that computes in extended numbers only, for items that underflow; it shares the tables."""

    def __init__(self, pairs: FlatPairs) -> None:
        vars(self).update(vars(pairs))

    def inside(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        scores, lengths, options = self._split(arguments)
        chart, log_partition = np.empty((len(lengths), items.HEAD)), np.zeros(len(lengths))
        groups, rows = self._groups(scores, lengths, options), self._joined(scores, options)
        on_items(items.totals, groups, EXTENDED_RING, rows, chart, log_partition)
        return torch.from_numpy(log_partition).to(scores[0].dtype), torch.from_numpy(chart)

    def _run_rings(
        self, kernel: Callable[..., None], scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any],
        rows: Array, chart: Tensor, *arrays: Array,
    ) -> None:  # fmt: skip
        charts = np.empty((len(rows), items.HEAD))
        on_items(kernel, self._groups(scores, lengths, options), EXTENDED_RING, rows, charts, *arrays)

    def log_ends(self, *arguments: Any) -> Tensor:
        """Return the logs of the cells whose sum is the total, ``(batch, count)``, less a constant for each item.

        The last argument is ``count``. Items with fewer such cells, or without a structure, are padded with -inf.
        """
        scores, lengths, (*options, count) = self._split(arguments)
        logs = np.full((len(lengths), count), -np.inf)
        groups = self._groups(scores, lengths, options)
        on_items(items.ends, groups, EXTENDED_RING, self._joined(scores, options), logs)
        return torch.from_numpy(logs)


def indices_of_mark(marks: Array, mark: float) -> Tensor | None:
    """Return the indices ``(count,)`` of the items with ``mark`` in ``marks (batch,)``; None if there are none."""
    return torch.from_numpy(np.flatnonzero(marks == mark)) if mark in marks.tolist() else None


def compute_chosen(
    function: Callable[..., Any], chosen: Tensor | None, results: Sequence[Tensor], *arguments: Any
) -> None:
    """Compute the results of chosen items of a batch by another function, and insert them.

    Args:
        function: Computes a batch from the arguments; results beyond those of ``results`` are ignored.
        chosen: ``(count,)``, the indices of these items; None if there are none.
        results: The results of the batch, updated in place. The entries of chosen items are replaced; an entry
            that several items share is a sum over them, to which the results of the chosen items are added.
        arguments: The arguments of the batch, tensors before numbers; several items may share an entry.
    """
    if chosen is None:
        return
    batch = len(arguments[0])
    tensors = (each[chosen // (batch // len(each))] for each in arguments if isinstance(each, Tensor))
    numbers = (each for each in arguments if not isinstance(each, Tensor))
    for result, part in zip(results, as_tuple(function(*tensors, *numbers)), strict=False):
        if len(result) == batch:
            result[chosen] = part.to(result.dtype)
        else:
            result.index_add_(0, chosen // (batch // len(result)), part.to(result.dtype))
