"""The oracles of table programs for tensors on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.autograd import Scores, alone
from strukt.kernels.engine import chosen, items
from strukt.kernels.engine.events import Events
from strukt.kernels.engine.groups import EXTENDED_RING, Groups, by_ring, of_kind, on_items, over, work
from strukt.kernels.engine.items import EXTENDED
from strukt.kernels.engine.operators import TableOperators, doubles_of, numpy_of, result, zeros
from strukt.kernels.engine.program import Program
from strukt.kernels.engine.rows import parts_of, row_of
from strukt.kernels.engine.tables import Tables
from strukt.kernels.interpreted import current
from strukt.kernels.jit import sample_threads, thread_count
from strukt.kernels.memory import empty
from strukt.kernels.sparsemap.result import Result, capacity, make_result
from strukt.kernels.sparsemap.state import make


class Backend(TableOperators):
    """The backend of a structure with one tensor of scores.

    The scores of an item have two axes of places of the weights, then axes of the values of each weight.

    Args:
        build: ``build(n, *options)`` writes the program of items of length n >= 1. Those of length 0 have one
            structure, which uses nothing.
        cells: ``cells(*places, *options)`` returns an upper bound on the number of cells, given the number of
            places along both axes, which may be symbolic.
        event_dim: The number of axes of places that an event has. An entry of an event is the index along the last
            of the other axes of places, if there are any, and the chosen value, if a weight has several.

    Every method takes scores ``(batch, *places)`` or ``(batch, *places, values)``, lengths ``(batch,)`` and the
    structure's options. Items run in parallel.
    """

    def __init__(self, build: Callable[..., Program], cells: Callable[..., int], event_dim: int = 1) -> None:
        self.tables = Tables(build)
        self._cells = cells
        self._event_dim = event_dim

    def chart_shape(self, *arguments: Any) -> tuple[int, int]:
        """Return the shape of the chart, ``(batch, size)``, in float64."""
        (main, *others), _, options = self._split(arguments)
        places = self._places(main)
        made = bool(others) or main.dim() > 1 + len(places)
        weights = math.prod(places) if made else 0
        return len(main), items.HEAD + self._cells(*places, *options) + weights

    def inside(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the log-partition ``(batch,)`` and the chart."""
        scores, lengths, options = self._split(arguments)
        groups = self._groups(scores, lengths, options)
        chart, log_partition = empty(self.chart_shape(*arguments)), np.zeros(len(lengths))
        arrays = (self._joined(scores, options), chart, log_partition)
        on_items(items.totals, groups, None, *arrays)
        if EXTENDED in chart[:, 0].tolist():
            on_items(items.totals, of_kind(groups, chart[:, 0], EXTENDED), EXTENDED_RING, *arrays)
        return torch.from_numpy(log_partition).to(scores[0].dtype), torch.from_numpy(chart)

    def outside(self, *arguments: Any) -> Tensor | Scores:
        """Return the probability of each part times the factor of its item, in the shape of the scores.

        The last arguments are the factors ``(batch,)`` and the chart of `inside`.
        """
        scores, lengths, (*options, factors, chart) = self._split(arguments)
        rows = self._joined(scores, options)
        used = zeros(rows)
        self._run_rings(items.marginals, scores, lengths, options, rows, chart, doubles_of(factors), used)
        return self._parted(used, scores, options)

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, *event)`` and its score ``(batch,)``; -1 and -inf if there is none."""
        events, result = self.kbest(*arguments, 1)
        return events[:, 0], result[:, 0]

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the k best events ``(batch, k, *event)`` and their scores ``(batch, k)``; k is the last argument.

        If there are fewer structures, events are padded with -1 and scores with -inf.
        """
        scores, lengths, (*options, k) = self._split(arguments)
        rows, result = self._joined(scores, options), np.full((len(lengths), k), -np.inf)
        events = self._no_events(scores[0], options, k)
        on_items(chosen.kbest, self._groups(scores, lengths, options), rows, *events.arrays, result)
        return events.as_tensor(), torch.from_numpy(result).to(scores[0].dtype)

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return exact samples ``(batch, count, *event)`` and the log-partition ``(batch,)``.

        The last argument is the count. Samples are -1 if there is no structure.
        """
        scores, lengths, (*options, count) = self._split(arguments)
        log_partition, chart = self.inside(*arguments[:-1])
        rows = self._joined(scores, options)
        events = self._no_events(scores[0], options, count)
        seeds = torch.randint(torch.iinfo(torch.int64).max, (len(lengths), count)).numpy()
        groups = self._groups(scores, lengths, options)
        used = sum(table.used * len(each) for table, each in groups) * count
        threads, chunks = sample_threads(len(lengths), count, 10 * used * math.prod(rows.shape[2:]))
        kernel, kinds = current(chosen.sample), chart.numpy()[:, 0]
        for each, ring in by_ring(groups, kinds):

            def draw(thread: int, each: Groups = each, ring: Array | None = ring) -> None:
                first, step = (0, 1) if chunks == 1 else (thread, chunks)
                for table, numbers in each:
                    mine = numbers[thread::threads] if chunks == 1 else numbers
                    kernel(table, mine, ring, rows, chart.numpy(), seeds, first, step, *events.arrays)

            over(draw, threads if each else 0)
        return events.as_tensor(), log_partition

    def sparsemap(self, *arguments: Any) -> Result:
        """Return the structures and weights of SparseMAP; the last arguments are the start and the settings."""
        scores, lengths, (*options, begin, settings) = self._split(arguments)
        groups = self._groups(scores, lengths, options)
        rows = self._joined(scores, options).astype(np.float64, copy=False)
        places = math.prod(self._places(scores[0]))
        batch, d = len(rows), places * math.prod(rows.shape[2:])
        p = max([scores[0].shape[1], *(table.used for table, _ in groups)])  # padding included
        k = capacity(d, begin, settings)
        result = make_result(batch, k, p)
        threads = thread_count(batch, 20 * work(groups))
        sets, kernel = make(threads, d, p, k), current(chosen.sparsemap)

        def solve(thread: int) -> None:
            for table, numbers in groups:
                kernel(table, numbers[thread::threads], rows, places, begin, settings, sets, result, thread)

        over(solve, threads)
        return result

    def _joined(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Array:
        (main,) = scores
        places = self._places(main)
        values = main.shape[1 + len(places) :]
        if not values:
            return doubles_of(main).reshape(len(main), math.prod(places))
        return numpy_of(main).reshape(len(main), math.prod(places), 1, *values)

    def _places(self, main: Tensor) -> torch.Size:
        return main.shape[1:3]

    def _no_events(self, main: Tensor, options: Sequence[Any], count: int) -> Events:
        """Allocate ``count`` events of each item, whose entries are all -1."""
        places = self._places(main)
        others = places[self._event_dim :]
        shape = (len(main), count, *places[: self._event_dim])
        alternatives, kinds = math.prod(others), math.prod(others[-1:])
        return Events(shape, alternatives, kinds, bool(others), main.dim() > 1 + len(places))


class RowBackend(Backend):
    """The backend of a structure with several tensors of scores, concatenated to one row for each item.

    Args:
        build: ``build(n, *options, *shapes)`` writes the program of items of length n >= 1, given the shapes of
            the tensors without the batch. Its weights may lie anywhere in the row (`ProgramBuilder.scattered`).
        cells: ``cells(*options, *shapes)`` returns an upper bound on the number of cells of the largest items.
        scores: The number of tensors, main scores first.
        event_dim: The number of axes of the main scores that an event has.
    """

    def __init__(
        self, build: Callable[..., Program], cells: Callable[..., int], scores: int, event_dim: int = 1
    ) -> None:
        super().__init__(build, cells, event_dim=event_dim)
        self.scores = scores

    def chart_shape(self, *arguments: Any) -> tuple[int, int]:
        scores, _, options = self._split(arguments)
        return len(scores[0]), items.HEAD + self._cells(*options, *shapes_of(scores))

    def _sizes(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> list[tuple[Any, ...]]:
        return [(n, *options, *shapes_of(scores)) for n in lengths.tolist()]

    def _places(self, main: Tensor) -> torch.Size:
        """Return the places of the main scores, which come first."""
        return main.shape[1:]

    def _joined(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Array:
        return row_of(scores)

    def _parted(self, rows: Array, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor | Scores:
        return alone(parts_of(rows, scores))


def shapes_of(scores: Sequence[Tensor]) -> list[tuple[int, ...]]:
    """Return the shapes of scores without the batch axis."""
    return [tuple(score.shape[1:]) for score in scores]


class CodeBackend(Backend):
    """The backend of a structure whose weights are codes of bits.

    It has two tensors of scores ``(batch, *places, bits)``: those of a 1 and those of a 0 for each bit.
    """

    scores = 2
    sparsemap: Any = None
    """None: a bit of 0 has a score but is not a part, so a list of parts does not make up a structure."""

    def _joined(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Array:
        positive, negative = (numpy_of(each) for each in scores)
        places, bits = math.prod(self._places(scores[0])), positive.shape[-1]
        rows = empty((len(positive), places, bits, 2), positive.dtype)
        rows[..., 0], rows[..., 1] = (each.reshape(rows.shape[:-1]) for each in (negative, positive))
        return rows

    def _parted(self, rows: Array, scores: Sequence[Tensor], options: Sequence[Any]) -> Scores:
        return tuple(result(rows[..., value], like) for value, like in zip((1, 0), scores, strict=True))
