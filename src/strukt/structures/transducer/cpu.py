"""Operators of transducers on the CPU: forward and backward in Numba, all others as a table program.

Arguments are ``moves (batch, n, m + 1, 2)``, ``lengths`` and ``target_lengths (batch,)``, as in
`reference.recursion`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.backend import RowBackend, shapes_of
from strukt.kernels.engine.flat import Flat
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import empty, zeros
from strukt.structures.transducer import cpu_forward_backward, forward


class Paths(Flat, RowBackend):
    """The table program as a CPU backend, with one tensor of scores and a second length for each item."""

    def __init__(self) -> None:
        RowBackend.__init__(self, forward.build, forward.cells, scores=1, event_dim=2)

    def chart_shape(self, *arguments: Any) -> tuple[int, int]:
        scores, _, _ = self._split(arguments)
        return super().chart_shape(*scores, None)

    def _sizes(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the size of each item's program; m is negative if there are labels but no frames: no path."""
        shapes, (target_lengths,) = shapes_of(scores), options
        each = zip(lengths.tolist(), target_lengths.tolist(), strict=True)
        return [(n, m, *shapes) if n or not m else (1, -1, *shapes) for n, m in each]


_TABLE = Paths()
best, kbest, sample, sparsemap = _TABLE.best, _TABLE.kbest, _TABLE.sample, _TABLE.sparsemap
derivative = _TABLE.derivative
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient
max_marginals, max_marginals_gradient = _TABLE.max_marginals, _TABLE.max_marginals_gradient


def chart_shape(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[int, ...]:
    """Return the shape of the chart, ``(batch, n, m + 1, 2)``, in float64."""
    return tuple(moves.shape)


def inside(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n m) per item, items in parallel."""
    chart = torch.from_numpy(empty(chart_shape(moves, lengths, target_lengths)))
    log_partition = zeros(lengths, torch.float64)
    _run(cpu_forward_backward.forward, moves, lengths, target_lengths, chart, log_partition)
    return log_partition.to(moves.dtype), chart


def outside(moves: Tensor, lengths: Tensor, target_lengths: Tensor, weights: Tensor, chart: Tensor) -> Tensor:
    """Return the marginals of moves, times ``weights (batch,)``, in the shape of ``moves``; time O(n m)."""
    marginals = zeros(moves)
    _run(cpu_forward_backward.backward, moves, lengths, target_lengths, weights, chart, marginals)
    return marginals


def _run(function: Callable[..., None], moves: Tensor, *more: Tensor) -> None:
    """Call ``function(moves, *more, start, step)`` on several threads."""
    if len(moves):
        over_batch(function, thread_count(len(moves), 20 * moves.numel()), moves, *more)
