"""The chain's kernels, segment by segment: memory O(sqrt(n) c) for the gradient instead of O(n c).

A chain of n positions is cut into about sqrt(n) segments; neighbours share a border. The forward pass keeps the
state at each border only: the log-probabilities of its tag given what stands before. With them in the place of the
border's own scores, a segment is a chain like any other. The backward pass takes the segments from the last to the
first, computes each again, and carries the weights of what follows a border, which are added to the last scores of
the segment before. It costs one more forward pass (Griewank and Walther 2000; Chen et al. 2016, section 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, logsumexp
from strukt.structures.linear_chain import cpu
from strukt.structures.linear_chain.cpu import (
    best,
    entropy,
    entropy_gradient,
    kbest,
    max_marginals,
    max_marginals_gradient,
    sample,
    sparsemap,
    surprise,
    surprise_gradient,
)

__all__ = [
    "best",
    "chart_shape",
    "entropy",
    "entropy_gradient",
    "inside",
    "kbest",
    "max_marginals",
    "max_marginals_gradient",
    "outside",
    "sample",
    "sparsemap",
    "surprise",
    "surprise_gradient",
]


class Segment(NamedTuple):
    """A part of each chain of a batch, a chain itself; all in float64.

    Attributes:
        first: Its first position.
        scores: Unary ``(batch, s, c)`` and transitions of its steps.
        lengths: ``(batch,)``, from 0 where the chain ends before it to s.
    """

    first: int
    scores: tuple[Tensor, Tensor]
    lengths: Tensor


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int, int]:
    """``(batch, segments, c)``: the state at the first position of each segment; none at that of the chain."""
    batch, n, c = unary.shape
    return batch, len(_starts(n)), c


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and the states at the borders; time O(n c^2) an item."""
    states = unary.new_zeros(chart_shape(unary, transition, lengths), dtype=torch.float64)
    log_partition = unary.new_zeros(len(unary), dtype=torch.float64)
    for k in range(states.shape[1]):
        segment = _segment(k, unary, transition, lengths, states)
        found, chart = cpu.inside(*segment.scores, segment.lengths)
        log_partition += found
        if k + 1 < states.shape[1]:
            states[:, k + 1] = _last_state(segment, chart, found)
    return log_partition.to(unary.dtype), states


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Expected tags ``(batch, n, c)`` and transitions, each item times its weight, in the shapes of the scores."""
    tags, pairs = torch.zeros_like(unary), torch.zeros_like(transition, dtype=torch.float64)
    weights = weights.double()
    lengths = torch.where(weights != 0, lengths, 0)  # the others have no gradient, and must not divide by it
    following = unary.new_zeros(unary.shape[::2], dtype=torch.float64)
    for k in reversed(range(chart.shape[1])):
        segment = _segment(k, unary, transition, lengths, chart)
        segment.scores[0][:, -1] += following
        _, states = cpu.inside(*segment.scores, segment.lengths)
        expected, steps = cpu.outside(*segment.scores, segment.lengths, weights, states)
        first, last = segment.first, segment.first + expected.shape[1]
        within = (torch.arange(last - first) < segment.lengths[:, None]).unsqueeze(-1)
        tags[:, first:last] = torch.where(within, expected.to(tags.dtype), tags[:, first:last])
        _steps(pairs, unary.shape[1], first, last).add_(steps)
        following = _following(expected[:, 0], weights, segment)
    return tags, pairs.to(transition.dtype)


def _starts(n: int) -> range:
    """First positions of segments."""
    return range(0, max(n - 1, min(n, 1)), max(math.isqrt(n), 1))


def _segment(k: int, unary: Tensor, transition: Tensor, lengths: Tensor, states: Tensor) -> Segment:
    n, starts = unary.shape[1], _starts(unary.shape[1])
    first, last = starts[k], min(starts[k] + starts.step + 1, n)
    scores = unary[:, first:last].to(torch.float64, copy=True)
    if first:
        scores[:, 0] = states[:, k]
    steps = _steps(transition, n, first, last).double()
    return Segment(first, (scores, steps), (lengths - first).clamp(0, last - first))


def _steps(transition: Tensor, n: int, first: int, last: int) -> Tensor:
    """The transitions between the positions from ``first`` to before ``last``; the shared one is that of all."""
    return transition[:, first : last - 1] if transition.shape[1] == n - 1 else transition


def _last_state(segment: Segment, chart: Tensor, log_partition: Tensor) -> Tensor:
    """The state at the last position; zeros for chains without it."""
    logs = _normalised(cpu.last_logs(*segment.scores, segment.lengths, chart))
    logs = torch.where(log_partition[:, None] == NEG_INF, NEG_INF, logs)
    return torch.where((segment.lengths == chart.shape[1])[:, None], logs, 0.0)


def _following(expected: Tensor, weights: Tensor, segment: Segment) -> Tensor:
    """The log-weights of what follows the first position, from its state and its posterior."""
    posterior = expected / weights[:, None]
    possible = torch.where(posterior > 0, posterior.log() - segment.scores[0][:, 0], NEG_INF)
    return torch.where((segment.lengths > 1)[:, None], _normalised(possible), 0.0)


def _normalised(logs: Tensor) -> Tensor:
    total = logsumexp(logs, -1).unsqueeze(-1)
    return torch.where(total == NEG_INF, logs, logs - total)
