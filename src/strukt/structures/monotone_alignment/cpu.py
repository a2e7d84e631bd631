"""Fused Numba kernels of monotone alignments: forward, backward, best path, samples.

The cells of an anti-diagonal do not depend on each other, so they are computed together, in vectors, as
`strukt.kernels.extended` numbers, for scores of any size.

The chart holds the total over the paths into each cell by each move, diagonal after diagonal: for a diagonal of k
cells three rows of k mantissas, then three rows of k ranks.

Arguments are ``moves (batch, n, m, 3)``, ``transition (g, 3, 3)``, ``lengths`` and ``target_lengths (batch,)``, as
in `reference.recursion`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.engine.flat import FlatPairs
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import empty, filled, no_events, zeros
from strukt.structures.monotone_alignment import (
    cpu_backward,
    cpu_forward,
    cpu_needleman_wunsch,
    cpu_sample,
    gotoh,
)

_TABLE = FlatPairs(gotoh.build, gotoh.cells, event_dim=2)
derivative = _TABLE.derivative
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient
max_marginals, max_marginals_gradient = _TABLE.max_marginals, _TABLE.max_marginals_gradient
sparsemap = _TABLE.sparsemap


def chart_shape(
    moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor
) -> tuple[int, int]:
    """Return the shape of the chart, ``(batch, 6 n m)``, in float64."""
    batch, n, m, _ = moves.shape
    return batch, 6 * n * m


def inside(
    moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n m) per item, items in parallel."""
    chart = torch.from_numpy(empty(chart_shape(moves, transition, lengths, target_lengths)))
    log_partition = zeros(lengths, torch.float64)
    _run(cpu_forward.forward, moves, transition, lengths, target_lengths, chart, log_partition)
    return log_partition.to(moves.dtype), chart


def outside(
    moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of moves, and the expected number of times that each move follows each other.

    They have the shapes of the scores, and are multiplied by ``weights (batch,)``. The expected numbers of items
    that share a transition matrix are summed.
    """
    batch, groups = len(moves), len(transition)
    marginals, pairs = zeros(moves), torch.zeros(batch, 3, 3, dtype=torch.float64)
    more = (weights, chart, marginals, pairs)
    _run(cpu_backward.backward, moves, transition, lengths, target_lengths, *more)
    shared = pairs.view(groups, batch // max(groups, 1), 3, 3).sum(1)
    return marginals, shared.to(transition.dtype)


def best(moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the moves of the best path ``(batch, n, m)``, else -1, and its score ``(batch,)``; time O(n m)."""
    paths, scores = kbest(moves, transition, lengths, target_lengths, 1)
    return paths[:, 0], scores[:, 0]


def kbest(
    moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """Return the moves of the k best paths ``(batch, k, n, m)`` and their scores ``(batch, k)``, best first.

    If there are fewer than k, the other moves are -1, and their scores -inf. Time O(n m + k (n + m)), and O(k n m)
    to fill the events with -1.
    """
    batch, n, m, _ = moves.shape
    paths = no_events(batch, k, n, m)
    scores = filled((batch, k), -torch.inf, torch.float64)
    _run(cpu_needleman_wunsch.kbest, moves, transition, lengths, target_lengths, paths, scores)
    return paths, scores.to(moves.dtype)


def sample(
    moves: Tensor, transition: Tensor, lengths: Tensor, target_lengths: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Return sampled paths ``(batch, count, n, m)`` and the log-partition ``(batch,)``.

    Paths are drawn from the last cell to the first, in O(n + m) time each.
    """
    log_partition, chart = inside(moves, transition, lengths, target_lengths)
    batch, n, m, _ = moves.shape
    uniform = torch.rand(batch, count, n + m, dtype=torch.float64)
    paths = no_events(batch, count, n, m)
    _run(cpu_sample.sample, moves, transition, lengths, target_lengths, chart, uniform, paths)
    return paths, log_partition


def _run(function: Callable[..., None], moves: Tensor, *more: Tensor) -> None:
    """Call ``function(moves, *more, start, step)`` on several threads."""
    batch, n, m, _ = moves.shape
    if batch:
        over_batch(function, thread_count(batch, 20 * batch * n * m), moves, *more)
