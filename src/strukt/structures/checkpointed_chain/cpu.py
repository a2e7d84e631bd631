"""Gradient checkpointing of the chain's kernels: O(sqrt(n) c) stored numbers for the gradient instead of O(n c).

A chain of n positions is cut into about sqrt(n) segments; neighbouring segments share a border position. The
forward pass stores only the state at each border: the log-probability of each tag there given the scores up to it.
With these in place of the scores of the border, a segment is a chain by itself. The backward pass goes through the
segments from the last to the first. It recomputes each one, and adds the backward sums at its first position to
the last scores of the segment before. This costs one more forward pass (Griewank and Walther 2000; Chen et al.
2016, section 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, logsumexp
from strukt.structures.linear_chain import cpu

best, kbest, sample, sparsemap = cpu.best, cpu.kbest, cpu.sample, cpu.sparsemap
entropy, entropy_gradient = cpu.entropy, cpu.entropy_gradient
surprise, surprise_gradient = cpu.surprise, cpu.surprise_gradient
max_marginals, max_marginals_gradient = cpu.max_marginals, cpu.max_marginals_gradient


class Segment(NamedTuple):
    """One segment of each chain of a batch, as a chain by itself; all in float64.

    Attributes:
        first: The first position of the segment.
        scores: Unary scores ``(batch, s, c)`` and the transitions of its steps.
        lengths: ``(batch,)``, 0 to s; 0 where the chain ends before the segment.
    """

    first: int
    scores: tuple[Tensor, Tensor]
    lengths: Tensor


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int, int]:
    """Return the shape of the chart, ``(batch, segments, c)``: the state at the first position of each segment."""
    batch, n, c = unary.shape
    return batch, len(_starts(n)), c


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the states at the borders; time O(n c^2) per item."""
    states = unary.new_zeros(chart_shape(unary, transition, lengths), dtype=torch.float64)
    log_partition = unary.new_zeros(len(unary), dtype=torch.float64)
    for k in range(states.shape[1]):
        segment = _segment(k, unary, transition, lengths, states)
        result, chart = cpu.inside(*segment.scores, segment.lengths)
        log_partition += result
        if k + 1 < states.shape[1]:
            states[:, k + 1] = _last_state(segment, chart, result)
    return log_partition.to(unary.dtype), states


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of tags and of transitions, times ``weights (batch,)``, in the shapes of the scores.

    ``chart`` is that of `inside`.
    """
    tags, pairs = torch.zeros_like(unary), torch.zeros_like(transition, dtype=torch.float64)
    weights = weights.double()
    lengths = torch.where(weights != 0, lengths, 0)  # weight 0: no gradient, no division by it
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
    """Return the first position of each segment."""
    return range(0, max(n - 1, min(n, 1)), max(math.isqrt(n), 1))


def _segment(k: int, unary: Tensor, transition: Tensor, lengths: Tensor, states: Tensor) -> Segment:
    """Return segment k of each chain; after the first, the state at its border replaces the scores there."""
    n, starts = unary.shape[1], _starts(unary.shape[1])
    first, last = starts[k], min(starts[k] + starts.step + 1, n)
    scores = unary[:, first:last].to(torch.float64, copy=True)
    if first:
        scores[:, 0] = states[:, k]
    steps = _steps(transition, n, first, last).double()
    return Segment(first, (scores, steps), (lengths - first).clamp(0, last - first))


def _steps(transition: Tensor, n: int, first: int, last: int) -> Tensor:
    """Return the transitions between the positions from ``first`` to ``last - 1``, or the shared transition."""
    return transition[:, first : last - 1] if transition.shape[1] == n - 1 else transition


def _last_state(segment: Segment, chart: Tensor, log_partition: Tensor) -> Tensor:
    """Return the state at the last position of a segment, ``(batch, c)``; zeros for chains that end before it."""
    logs = _normalised(cpu.last_logs(*segment.scores, segment.lengths, chart))
    logs = torch.where(log_partition[:, None] == NEG_INF, NEG_INF, logs)
    return torch.where((segment.lengths == chart.shape[1])[:, None], logs, 0.0)


def _following(expected: Tensor, weights: Tensor, segment: Segment) -> Tensor:
    """Return the logs of the backward sums at the first position of a segment, ``(batch, c)``, up to a constant.

    They follow from the marginals there times weights, ``expected (batch, c)``, and the scores there. They are
    zeros for chains that end there or before.
    """
    posterior = expected / weights[:, None]
    possible = torch.where(posterior > 0, posterior.log() - segment.scores[0][:, 0], NEG_INF)
    return torch.where((segment.lengths > 1)[:, None], _normalised(possible), 0.0)


def _normalised(logs: Tensor) -> Tensor:
    """Return rows of logs ``(batch, c)``, shifted so that their exponentials sum to 1; rows of only -inf stay."""
    total = logsumexp(logs, -1).unsqueeze(-1)
    return torch.where(total == NEG_INF, logs, logs - total)
