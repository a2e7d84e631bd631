"""Kernels of transducers on the CPU: forward and backward in Numba, and a table for all other questions.

The chart holds for each node the log of the total over the ways there, ``(n, m + 1)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.engine.backend import RowBackend, shapes_of
from strukt.kernels.engine.flat import Flat
from strukt.kernels.jit import inner, kernel, over_batch, thread_count
from strukt.kernels.memory import empty, zeros
from strukt.structures.transducer import program
from strukt.structures.transducer.reference import BLANK, LABEL

Array = npt.NDArray[Any]


class Paths(Flat, RowBackend):
    """One tensor of scores, and a second length of each item."""

    def __init__(self) -> None:
        RowBackend.__init__(self, program.build, program.cells, scores=1, event_dim=2)

    def chart_shape(self, *arguments: Any) -> tuple[int, int]:
        scores, _, _ = self._split(arguments)
        return super().chart_shape(*scores, None)

    def _sizes(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Labels without a frame have no path, unlike no labels."""
        shapes, (target_lengths,) = shapes_of(scores), options
        each = zip(lengths.tolist(), target_lengths.tolist(), strict=True)
        return [(n, m, *shapes) if n or not m else (1, -1, *shapes) for n, m in each]


_TABLE = Paths()
best, kbest, sample, sparsemap = _TABLE.best, _TABLE.kbest, _TABLE.sample, _TABLE.sparsemap
derivative = _TABLE.derivative
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient
max_marginals, max_marginals_gradient = _TABLE.max_marginals, _TABLE.max_marginals_gradient


def chart_shape(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[int, int, int]:
    """``(batch, n, m + 1)``; charts are of float64."""
    return len(moves), moves.shape[1], moves.shape[2]


def inside(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n m) an item, items in parallel."""
    arguments = (moves, lengths, target_lengths)
    chart = torch.from_numpy(empty(chart_shape(*arguments)))
    log_partition = zeros(lengths, torch.float64)
    _run(_forward, arguments, chart.numpy(), log_partition.numpy())
    return log_partition.to(moves.dtype), chart


def outside(moves: Tensor, lengths: Tensor, target_lengths: Tensor, weights: Tensor, chart: Tensor) -> Tensor:
    """The probability of each move times the weight of its item."""
    marginals = zeros(moves)
    arrays = (weights.contiguous().numpy(), chart.numpy(), marginals.numpy())
    _run(_backward, (moves, lengths, target_lengths), *arrays)
    return marginals


def _run(function: Callable[..., None], arguments: tuple[Tensor, ...], *arrays: Array) -> None:
    """Call ``function(moves, lengths, target_lengths, *arrays, start, step)`` on all threads."""
    moves = arguments[0]
    if len(moves):
        threads = thread_count(len(moves), 20 * moves.numel())
        over_batch(function, threads, *(value.detach().contiguous().numpy() for value in arguments), *arrays)


@inner
def _add(a: float, b: float) -> float:
    """The log of the sum of exponentials."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@inner
def _total(moves: Array, n: int, m: int, chart: Array) -> float:
    if n == 0:
        return 0.0 if m == 0 else -np.inf
    return chart[n - 1, m] + moves[n - 1, m, BLANK]  # type: ignore[no-any-return]


@kernel
def _forward(
    moves: Array, lengths: Array, target_lengths: Array, chart: Array, log_partition: Array, start: int, step: int
) -> None:
    for b in range(start, moves.shape[0], step):
        n, m, scores, alpha = lengths[b], target_lengths[b], moves[b], chart[b]
        for t in range(n):
            for u in range(m + 1):
                came = alpha[t - 1, u] + scores[t - 1, u, BLANK] if t > 0 else -np.inf
                said = alpha[t, u - 1] + scores[t, u - 1, LABEL] if u > 0 else -np.inf
                alpha[t, u] = _add(came, said) if t + u > 0 else 0.0
        log_partition[b] = _total(scores, n, m, alpha)


@kernel
def _backward(
    moves: Array, lengths: Array, target_lengths: Array, weights: Array, chart: Array, marginals: Array, start: int,
    step: int,
) -> None:  # fmt: skip
    """From the last node on, the log of the total over the ways on from each node of a frame: ``beta``."""
    for b in range(start, moves.shape[0], step):
        n, m, scores, alpha = lengths[b], target_lengths[b], moves[b], chart[b]
        total = _total(scores, n, m, alpha)
        if total == -np.inf:
            continue
        beta = np.full(m + 2, -np.inf)
        for t in range(n - 1, -1, -1):
            for u in range(m, -1, -1):
                ahead = 0.0 if t == n - 1 and u == m else -np.inf if t == n - 1 else beta[u]
                left = scores[t, u, BLANK] + ahead
                said = scores[t, u, LABEL] + beta[u + 1] if u < m else -np.inf
                marginals[b, t, u, BLANK] = weights[b] * np.exp(alpha[t, u] + left - total)
                if u < m:
                    marginals[b, t, u, LABEL] = weights[b] * np.exp(alpha[t, u] + said - total)
                beta[u] = _add(left, said)
