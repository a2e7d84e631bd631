"""The questions of `strukt.kernels.oracles.Oracles` about a recursion that is a table, for tensors on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.engine import chosen, items
from strukt.kernels.engine.items import EXTENDED, PLAIN
from strukt.kernels.engine.program import Array, Program
from strukt.kernels.engine.tables import Table, Tables
from strukt.kernels.interpreted import current
from strukt.kernels.jit import sample_threads, thread_count
from strukt.kernels.memory import empty, no_events
from strukt.kernels.sparsemap.found import Found, capacity, make_found
from strukt.kernels.sparsemap.state import make
from strukt.kernels.threads import run

Groups = list[tuple[Table, Array]]
"""Tables, and the items that are of their size."""

_EXTENDED_RING = np.empty(0, np.int64)
"""What kernels take for the ring of extended numbers."""


class Backend:
    """A structure with one tensor of scores.

    Args:
        build: ``build(n, *options)`` writes the program of items of length n >= 1. Those of length 0 have one
            structure, which uses nothing.
        cells: ``cells(*shape, *options)`` gives room for the cells of items in main scores of this shape, which
            may be symbolic.
        event_dim: The number of axes of an event; they are the first part axes of the scores.

    Every method takes scores ``(batch, ...)``, lengths ``(batch,)`` and the structure's options. Items run in
    parallel.
    """

    def __init__(self, build: Callable[..., Program], cells: Callable[..., int], event_dim: int = 1) -> None:
        self._tables = Tables(build)
        self._cells = cells
        self._event_dim = event_dim

    def chart_shape(self, scores: Tensor, lengths: Tensor, *options: Any) -> tuple[int, int]:
        """``(batch, cells + 1)``; charts are of float64."""
        return len(scores), 1 + self._cells(*scores.shape[1:], *options)

    def inside(self, scores: Tensor, lengths: Tensor, *options: Any) -> tuple[Tensor, Tensor]:
        """Log-partition ``(batch,)`` and chart."""
        groups = self._groups(scores, lengths, options)
        chart, log_partition = empty(self.chart_shape(scores, lengths, *options)), np.zeros(len(scores))
        given = (_rows(scores), chart, log_partition)
        _run(items.totals, groups, None, *given)
        if EXTENDED in chart[:, 0].tolist():
            _run(items.totals, _of_kind(groups, chart[:, 0], EXTENDED), _EXTENDED_RING, *given)
        return torch.from_numpy(log_partition).to(scores.dtype), torch.from_numpy(chart)

    def outside(self, scores: Tensor, lengths: Tensor, *rest: Any) -> Tensor:
        """The probability of each part times the factor of its item, in the shape of the scores."""
        *options, factors, chart = rest
        used = _zeros(scores)
        self._run_rings(items.marginals, scores, lengths, options, chart, _factors(factors), used)
        return _result(used, scores)

    def derivative(self, scores: Tensor, lengths: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        """Gradients of <`outside`, direction> in the scores and in the factors."""
        *options, factors, direction, chart = rest
        grads, factor_grads = _zeros(scores), np.zeros(len(scores))
        arrays = (_factors(factors), _rows(direction), grads, factor_grads)
        self._run_rings(items.hessians, scores, lengths, options, chart, *arrays)
        return _result(grads, scores), _result(factor_grads, factors)

    def entropy(self, scores: Tensor, lengths: Tensor, *options: Any) -> Tensor:
        """``(batch,)`` in nats."""
        found, _ = self._surprise(scores, None, lengths, options, None)
        return torch.from_numpy(found).to(scores.dtype)

    def surprise(self, scores: Tensor, other: Tensor, lengths: Tensor, *options: Any) -> Tensor:
        """``(batch,)`` in nats: -E[log q] of the distribution q of ``other`` under that of ``scores``."""
        found, _ = self._surprise(scores, other, lengths, options, None)
        return torch.from_numpy(found).to(scores.dtype)

    def entropy_gradient(self, scores: Tensor, lengths: Tensor, *rest: Any) -> Tensor:
        """The gradient of the entropies times their factors, the last argument."""
        *options, factors = rest
        return _result(self._surprise(scores, None, lengths, options, factors)[1], scores)

    def surprise_gradient(self, scores: Tensor, other: Tensor, lengths: Tensor, *rest: Any) -> Tensor:
        """The gradient of the cross-entropies in ``scores``, times their factors, the last argument."""
        *options, factors = rest
        return _result(self._surprise(scores, other, lengths, options, factors)[1], scores)

    def best(self, scores: Tensor, lengths: Tensor, *options: Any) -> tuple[Tensor, Tensor]:
        """A best event ``(batch, *event)`` and its score."""
        events, found = self.kbest(scores, lengths, *options, 1)
        return events[:, 0], found[:, 0]

    def kbest(self, scores: Tensor, lengths: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        """The k best events ``(batch, k, *event)`` and their scores; the last argument is k."""
        *options, k = rest
        events = no_events(len(scores), k, *self._event_shape(scores))
        found = np.full((len(scores), k), -np.inf)
        groups = self._groups(scores, lengths, options)
        _run(chosen.kbest, groups, _rows(scores), events.flatten(2).numpy(), found)
        return events, torch.from_numpy(found).to(scores.dtype)

    def sample(self, scores: Tensor, lengths: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        """Exact samples ``(batch, count, *event)`` and the log-partition; the last argument is their number."""
        *options, count = rest
        log_partition, chart = self.inside(scores, lengths, *options)
        events = no_events(len(scores), count, *self._event_shape(scores))
        seeds = torch.randint(torch.iinfo(torch.int64).max, (len(scores), count)).numpy()
        threads, chunks = sample_threads(len(scores), count, events.numel() * 10)
        given = _rows(scores), chart.numpy(), seeds
        kernel, flat, kinds = current(chosen.sample), events.flatten(2).numpy(), chart.numpy()[:, 0]
        groups = self._groups(scores, lengths, options)
        for each, ring in _by_ring(groups, kinds):

            def draw(thread: int, each: Groups = each, ring: Array | None = ring) -> None:
                first, step = (0, 1) if chunks == 1 else (thread, chunks)
                for table, numbers in each:
                    mine = numbers[thread::threads] if chunks == 1 else numbers
                    kernel(table, mine, ring, *given, first, step, flat)

            _over(draw, threads if each else 0)
        return events, log_partition

    def max_marginals(self, scores: Tensor, lengths: Tensor, *options: Any) -> Tensor:
        """For each part the best score of a structure that uses it, in the shape of the scores."""
        rows = _rows(scores)
        found = np.full(rows.shape, -np.inf)
        _run(chosen.max_marginals, self._groups(scores, lengths, options), rows, found)
        return _result(found, scores)

    def sparsemap(self, scores: Tensor, lengths: Tensor, *rest: Any) -> Found:
        """The structures of SparseMAP; the last arguments are what to begin with, and settings."""
        *options, begin, settings = rest
        groups, rows = self._groups(scores, lengths, options), _rows(scores)
        batch, d = rows.shape
        p = max([scores.shape[1], *(table.used for table, _ in groups)])  # padded positions have room, too
        k = capacity(d, begin, settings)
        found = make_found(batch, k, p)
        threads = thread_count(batch, 20 * _work(groups))
        sets, kernel = make(threads, d, p, k), current(chosen.sparsemap)

        def solve(thread: int) -> None:
            for table, numbers in groups:
                kernel(table, numbers[thread::threads], rows, begin, settings, sets, found, thread)

        _over(solve, threads)
        return found

    def _event_shape(self, scores: Tensor) -> torch.Size:
        return scores.shape[1 : 1 + self._event_dim]

    def _groups(self, scores: Tensor, lengths: Tensor, options: Sequence[Any]) -> Groups:
        """The items of each length."""
        by_length: dict[int, list[int]] = {}
        for item, n in enumerate(lengths.tolist()):
            by_length.setdefault(n, []).append(item)
        shape = scores.shape[1:]
        return [(self._tables.get(n, options, shape), np.array(each)) for n, each in by_length.items()]

    def _run_rings(
        self, kernel: Callable[..., None], scores: Tensor, lengths: Tensor, options: Sequence[Any], chart: Tensor,
        *arrays: Array,
    ) -> None:  # fmt: skip
        """Call a kernel on all possible items in their rings."""
        groups, kinds = self._groups(scores, lengths, options), chart.numpy()[:, 0]
        for each, ring in _by_ring(groups, kinds):
            _run(kernel, each, ring, _rows(scores), chart.numpy(), *arrays)

    def _surprise(
        self, scores: Tensor, other: Tensor | None, lengths: Tensor, options: Sequence[Any], factors: Tensor | None
    ) -> tuple[Array, Array]:
        """Cross-entropies, entropies without others, and their gradients times factors, if there are any."""
        groups = self._groups(scores, lengths, options)
        found, kinds = np.zeros(len(scores)), np.full(len(scores), PLAIN)
        grads = _zeros(scores) if factors is not None else np.empty((0, 1))
        scale = _factors(factors) if factors is not None else np.empty(0)
        others = _rows(other) if other is not None else np.empty((0, 1))
        given = (_rows(scores), others, scale, kinds, found, grads)
        _run(items.surprises, groups, None, *given)
        _run(items.surprises, _of_kind(groups, kinds, EXTENDED), _EXTENDED_RING, *given)
        return found, grads


_RINGS = ((PLAIN, None), (EXTENDED, _EXTENDED_RING))


def _factors(factors: Tensor) -> Array:
    """Those of the items, in float64."""
    return np.ascontiguousarray(_numpy(factors), np.float64)


def _zeros(scores: Tensor) -> Array:
    """Room for sums over parts, ``(batch, d)``."""
    return np.zeros((len(scores), math.prod(scores.shape[1:])))


def _flat(array: Array) -> Array:
    """An array without gaps as ``(batch, d)``."""
    return array.reshape(len(array), -1) if array.size else np.empty((len(array), 0))


def _rows(scores: Tensor) -> Array:
    """Scores ``(batch, d)`` in float64, in which sums of a type with fewer digits are as good as exact."""
    return _flat(np.ascontiguousarray(_numpy(scores), np.float64))


def _numpy(tensor: Tensor) -> Array:
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()


def _result(array: Array, like: Tensor) -> Tensor:
    """An array as a tensor of the type and shape of another."""
    return torch.from_numpy(array.reshape(like.shape)).to(like.dtype)


def _by_ring(groups: Groups, kinds: Array) -> list[tuple[Groups, Array | None]]:
    """The possible items, those in plain numbers first, and the ring of each part."""
    if kinds.tolist().count(PLAIN) == len(kinds):
        return [(groups, None)]
    return [(_of_kind(groups, kinds, kind), ring) for kind, ring in _RINGS]


def _of_kind(groups: Groups, kinds: Array, kind: float) -> Groups:
    """The items in one ring."""
    chosen = ((table, each[kinds[each] == kind]) for table, each in groups)
    return [(table, each) for table, each in chosen if len(each)]


def _work(groups: Groups) -> int:
    return sum(table.terms * len(each) for table, each in groups)


def _run(kernel: Callable[..., None], groups: Groups, *arguments: Any) -> None:
    """Call ``kernel(table, items, *arguments)`` for all groups, in threads that share the items of each."""
    if not groups:
        return
    kernel = current(kernel)
    threads = thread_count(sum(len(each) for _, each in groups), _work(groups))

    def visit(thread: int) -> None:
        for table, each in groups:
            kernel(table, each[thread::threads], *arguments)

    _over(visit, threads)


def _over(task: Callable[[int], None], threads: int) -> None:
    if threads == 1:
        task(0)
    elif threads > 1:
        run(task, threads)
