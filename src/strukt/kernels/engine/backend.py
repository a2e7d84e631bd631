"""The questions of `strukt.kernels.oracles.Oracles` about a recursion that is a table, for tensors on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.autograd import Scores, as_tuple
from strukt.kernels.engine import chosen, items
from strukt.kernels.engine.groups import EXTENDED_RING, Groups, by_ring, of_kind, on_items, over, work
from strukt.kernels.engine.items import EXTENDED, PLAIN
from strukt.kernels.engine.names import Names
from strukt.kernels.engine.program import Array, Program
from strukt.kernels.engine.tables import Tables
from strukt.kernels.interpreted import current
from strukt.kernels.jit import sample_threads, thread_count
from strukt.kernels.memory import empty
from strukt.kernels.sparsemap.found import Found, capacity, make_found
from strukt.kernels.sparsemap.state import make


class Backend:
    """A structure whose scores are one tensor, the places of weights first, then the values that each is made of.

    Args:
        build: ``build(n, *options)`` writes the program of items of length n >= 1. Those of length 0 have one
            structure, which uses nothing.
        cells: ``cells(*places, *options)`` gives room for the cells of items with so many places along each axis,
            which may be symbolic.
        place_dim: The number of axes of places.
        event_dim: How many of these an event has, too; what it holds is the index along the others, if there are
            any, and the value that is chosen, if there are several.

    Every method takes scores ``(batch, *places)`` or ``(batch, *places, values)``, lengths ``(batch,)`` and the
    structure's options. Items run in parallel.
    """

    scores = 1
    """The number of tensors of scores."""

    def __init__(
        self, build: Callable[..., Program], cells: Callable[..., int], place_dim: int = 2, event_dim: int = 1
    ) -> None:
        self._tables = Tables(build)
        self._cells = cells
        self._place_dim = place_dim
        self._event_dim = event_dim

    def chart_shape(self, *arguments: Any) -> tuple[int, int]:
        """``(batch, ...)``; charts are of float64."""
        (main, *others), _, options = self._split(arguments)
        places = self._places(main)
        made = bool(others) or main.dim() > 1 + len(places)
        weights = math.prod(places) if made else 0
        return len(main), items.HEAD + self._cells(*places, *options) + weights

    def inside(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Log-partition ``(batch,)`` and chart."""
        scores, lengths, options = self._split(arguments)
        groups = self._groups(scores[0], lengths, options)
        chart, log_partition = empty(self.chart_shape(*arguments)), np.zeros(len(lengths))
        given = (self._joined(scores), chart, log_partition)
        on_items(items.totals, groups, None, *given)
        if EXTENDED in chart[:, 0].tolist():
            on_items(items.totals, of_kind(groups, chart[:, 0], EXTENDED), EXTENDED_RING, *given)
        return torch.from_numpy(log_partition).to(scores[0].dtype), torch.from_numpy(chart)

    def outside(self, *arguments: Any) -> Tensor | Scores:
        """The probability of each part times the factor of its item, in the shape of the scores."""
        scores, lengths, (*options, factors, chart) = self._split(arguments)
        rows = self._joined(scores)
        used = _zeros(rows)
        self._run_rings(items.marginals, scores[0], lengths, options, rows, chart, _factors(factors), used)
        return self._parted(used, scores)

    def derivative(self, *arguments: Any) -> tuple[Tensor, ...]:
        """Gradients of <`outside`, directions> in the scores and in the factors."""
        scores, lengths, (*rest, chart) = self._split(arguments)
        (*options, factors), directions = rest[: -self.scores], rest[-self.scores :]
        rows = self._joined(scores)
        grads, factor_grads = _zeros(rows), np.zeros(len(lengths))
        arrays = (_factors(factors), self._joined(directions), grads, factor_grads)
        self._run_rings(items.hessians, scores[0], lengths, options, rows, chart, *arrays)
        found = self._parted(grads, scores)
        return (*as_tuple(found), _result(factor_grads, factors))

    def entropy(self, *arguments: Any) -> Tensor:
        """``(batch,)`` in nats."""
        scores, lengths, options = self._split(arguments)
        found, _ = self._surprise(scores, None, lengths, options, None)
        return torch.from_numpy(found).to(scores[0].dtype)

    def surprise(self, *arguments: Any) -> Tensor:
        """``(batch,)`` in nats: -E[log q] of the distribution q of other scores under that of the first ones."""
        scores, other, lengths, options = self._split_both(arguments)
        found, _ = self._surprise(scores, other, lengths, options, None)
        return torch.from_numpy(found).to(scores[0].dtype)

    def entropy_gradient(self, *arguments: Any) -> Tensor | Scores:
        """The gradient of the entropies times their factors, the last argument."""
        scores, lengths, (*options, factors) = self._split(arguments)
        return self._parted(self._surprise(scores, None, lengths, options, factors)[1], scores)

    def surprise_gradient(self, *arguments: Any) -> Tensor | Scores:
        """The gradient of the cross-entropies in the first scores, times their factors, the last argument."""
        scores, other, lengths, (*options, factors) = self._split_both(arguments)
        return self._parted(self._surprise(scores, other, lengths, options, factors)[1], scores)

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """A best event ``(batch, *event)`` and its score."""
        events, found = self.kbest(*arguments, 1)
        return events[:, 0], found[:, 0]

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """The k best events ``(batch, k, *event)`` and their scores; the last argument is k."""
        scores, lengths, (*options, k) = self._split(arguments)
        rows, found = self._joined(scores), np.full((len(lengths), k), -np.inf)
        named = self._no_names(scores[0], k)
        on_items(chosen.kbest, self._groups(scores[0], lengths, options), rows, *named.arrays, found)
        return named.events(), torch.from_numpy(found).to(scores[0].dtype)

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Exact samples ``(batch, count, *event)`` and the log-partition; the last argument is their number."""
        scores, lengths, (*options, count) = self._split(arguments)
        log_partition, chart = self.inside(*arguments[:-1])
        rows = self._joined(scores)
        named = self._no_names(scores[0], count)
        seeds = torch.randint(torch.iinfo(torch.int64).max, (len(lengths), count)).numpy()
        groups = self._groups(scores[0], lengths, options)
        used = sum(table.used * len(each) for table, each in groups) * count
        threads, chunks = sample_threads(len(lengths), count, 10 * used * math.prod(rows.shape[2:]))
        kernel, kinds = current(chosen.sample), chart.numpy()[:, 0]
        for each, ring in by_ring(groups, kinds):

            def draw(thread: int, each: Groups = each, ring: Array | None = ring) -> None:
                first, step = (0, 1) if chunks == 1 else (thread, chunks)
                for table, numbers in each:
                    mine = numbers[thread::threads] if chunks == 1 else numbers
                    kernel(table, mine, ring, rows, chart.numpy(), seeds, first, step, *named.arrays)

            over(draw, threads if each else 0)
        return named.events(), log_partition

    def max_marginals(self, *arguments: Any) -> Tensor | Scores:
        """For each part the best score of a structure that uses it, in the shape of the scores."""
        scores, lengths, options = self._split(arguments)
        rows = self._joined(scores)
        found = np.full(rows.shape, -np.inf)
        on_items(chosen.max_marginals, self._groups(scores[0], lengths, options), rows, found)
        return self._parted(found, scores)

    def sparsemap(self, *arguments: Any) -> Found:
        """The structures of SparseMAP; the last arguments are what to begin with, and settings."""
        (main,), lengths, (*options, begin, settings) = self._split(arguments)
        groups, rows = self._groups(main, lengths, options), self._joined((main,)).astype(np.float64, copy=False)
        batch, d = len(rows), math.prod(rows.shape[1:])
        p = max([main.shape[1], *(table.used for table, _ in groups)])  # padded positions have room, too
        k = capacity(d, begin, settings)
        found = make_found(batch, k, p)
        threads = thread_count(batch, 20 * work(groups))
        sets, kernel = make(threads, d, p, k), current(chosen.sparsemap)

        def solve(thread: int) -> None:
            for table, numbers in groups:
                kernel(table, numbers[thread::threads], rows, begin, settings, sets, found, thread)

        over(solve, threads)
        return found

    def _split(self, arguments: Sequence[Any]) -> tuple[Sequence[Tensor], Tensor, Sequence[Any]]:
        """Scores, lengths, and the rest."""
        return arguments[: self.scores], arguments[self.scores], arguments[self.scores + 1 :]

    def _split_both(
        self, arguments: Sequence[Any]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor], Tensor, Sequence[Any]]:
        """Scores, other scores, lengths, and the rest."""
        return arguments[: self.scores], *self._split(arguments[self.scores :])

    def _joined(self, scores: Sequence[Tensor]) -> Array:
        """Scores ``(batch, places, features, values)``."""
        (main,) = scores
        places = self._places(main)
        values = main.shape[-1] if main.dim() > 1 + len(places) else 1
        return _numpy(main).reshape(len(main), math.prod(places), 1, values)

    def _parted(self, found: Array, scores: Sequence[Tensor]) -> Tensor | Scores:
        """An array as `_joined` gives it in the types and shapes of the scores."""
        return _result(found, scores[0])

    def _places(self, main: Tensor) -> torch.Size:
        return main.shape[1 : 1 + self._place_dim]

    def _no_names(self, main: Tensor, count: int) -> Names:
        """Room for so many events of each item."""
        places = self._places(main)
        alternatives = math.prod(places[self._event_dim :])
        shape = (len(main), count, *places[: self._event_dim])
        return Names(shape, alternatives, main.dim() > 1 + len(places))

    def _groups(self, main: Tensor, lengths: Tensor, options: Sequence[Any]) -> Groups:
        """The items of each length."""
        by_length: dict[int, list[int]] = {}
        for item, n in enumerate(lengths.tolist()):
            by_length.setdefault(n, []).append(item)
        shape = self._places(main)
        return [(self._tables.get(n, options, shape), np.array(each)) for n, each in by_length.items()]

    def _run_rings(
        self, kernel: Callable[..., None], main: Tensor, lengths: Tensor, options: Sequence[Any], rows: Array,
        chart: Tensor, *arrays: Array,
    ) -> None:  # fmt: skip
        """Call a kernel on all possible items in their rings."""
        groups, charts = self._groups(main, lengths, options), chart.numpy()
        for each, ring in by_ring(groups, charts[:, 0]):
            on_items(kernel, each, ring, rows, charts, *arrays)

    def _surprise(
        self, scores: Sequence[Tensor], other: Sequence[Tensor] | None, lengths: Tensor, options: Sequence[Any],
        factors: Tensor | None,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Cross-entropies, entropies without others, and their gradients times factors, if there are any."""
        groups, rows = self._groups(scores[0], lengths, options), self._joined(scores)
        found, kinds = np.zeros(len(lengths)), np.full(len(lengths), PLAIN)
        grads = _zeros(rows) if factors is not None else rows[:0]
        scale = _factors(factors) if factors is not None else np.empty(0)
        others = self._joined(other) if other is not None else rows[:0]
        given = (rows, others, scale, kinds, found, grads)
        on_items(items.surprises, groups, None, *given)
        on_items(items.surprises, of_kind(groups, kinds, EXTENDED), EXTENDED_RING, *given)
        return found, grads


class CodeBackend(Backend):
    """A structure whose weights are codes: scores are two tensors, those of 1 and of 0 of each bit.

    Both are ``(batch, *places, bits)``.
    """

    scores = 2
    sparsemap: Any = None
    """A bit that is 0 is no part, so that structures are no lists of parts."""

    def _joined(self, scores: Sequence[Tensor]) -> Array:
        positive, negative = (_numpy(each) for each in scores)
        places, bits = math.prod(self._places(scores[0])), positive.shape[-1]
        rows = empty((len(positive), places, bits, 2), positive.dtype)
        rows[..., 0], rows[..., 1] = (each.reshape(rows.shape[:-1]) for each in (negative, positive))
        return rows

    def _parted(self, found: Array, scores: Sequence[Tensor]) -> Scores:
        return tuple(_result(found[..., value], like) for value, like in zip((1, 0), scores, strict=True))


def _factors(factors: Tensor) -> Array:
    """Those of the items, in float64."""
    return np.ascontiguousarray(_numpy(factors), np.float64)


def _zeros(rows: Array) -> Array:
    """Room for sums over parts."""
    found = empty(rows.shape, rows.dtype)
    found.fill(0.0)
    return found


def _numpy(tensor: Tensor) -> Array:
    """In float32 or float64, without gaps."""
    tensor = tensor.detach().contiguous()
    return (tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor).numpy()


def _result(array: Array, like: Tensor) -> Tensor:
    """An array as a tensor of the type and shape of another."""
    return torch.from_numpy(np.ascontiguousarray(array).reshape(like.shape)).to(like.dtype)
