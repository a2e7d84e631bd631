"""Operators of CTC on the CPU: fused Numba kernels, and a table program for the others.

Arguments are ``logits (batch, n, c)``, ``lengths (batch,)``, ``states (batch, 2 m + 1)`` and ``target_lengths
(batch,)``, as in `reference.recursion`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import empty, filled, no_events, zeros
from strukt.structures.ctc import cpu_forward_backward, cpu_sample, cpu_viterbi
from strukt.structures.ctc.forward import States

_TABLE = States()
derivative = _TABLE.derivative
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient
max_marginals, max_marginals_gradient = _TABLE.max_marginals, _TABLE.max_marginals_gradient


def chart_shape(
    logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor
) -> tuple[int, int, int, int]:
    """Return the shape of the chart, ``(batch, n + 1, 4, m + 1)``, in float64."""
    return len(logits), logits.shape[1] + 1, 4, states.shape[1] // 2 + 1


def inside(logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n m) per item, items in parallel."""
    chart = torch.from_numpy(empty(chart_shape(logits, lengths, states, target_lengths)))
    log_partition = zeros(lengths, torch.float64)
    _run(cpu_forward_backward.forward, logits, lengths, states, target_lengths, chart, log_partition)
    return log_partition.to(logits.dtype), chart


def outside(
    logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor, weights: Tensor, chart: Tensor
) -> Tensor:
    """Return the marginals of labels at frames, ``(batch, n, c)``, times ``weights (batch,)``; time O(n (m + c)).

    The chart is that of `inside`.
    """
    marginals = zeros(logits)
    _run(cpu_forward_backward.backward, logits, lengths, states, target_lengths, weights, chart, marginals)
    return marginals


def best(logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best labels ``(batch, n)``, -1 in the padding, and their score ``(batch,)``; time O(n m)."""
    labels, scores = kbest(logits, lengths, states, target_lengths, 1)
    return labels[:, 0], scores[:, 0]


def kbest(
    logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """Return the k best labellings ``(batch, k, n)`` and their scores ``(batch, k)``, best first.

    If there are fewer than k, the other labels are -1, and their scores -inf. Time O(n m + k n).
    """
    batch, n, _ = logits.shape
    labels = no_events(batch, k, n)
    scores = filled((batch, k), -torch.inf, torch.float64)
    _run(cpu_viterbi.kbest, logits, lengths, states, target_lengths, labels, scores)
    return labels, scores.to(logits.dtype)


def sample(
    logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Return sampled labels ``(batch, count, n)`` and the log-partition ``(batch,)``.

    Labels are drawn from the last frame to the first.
    """
    log_partition, chart = inside(logits, lengths, states, target_lengths)
    batch, n, _ = logits.shape
    uniform = torch.rand(batch, n, count, dtype=torch.float64)
    labels = no_events(batch, count, n)
    _run(cpu_sample.sample, logits, lengths, states, target_lengths, chart, uniform, labels)
    return labels, log_partition


def _run(function: Callable[..., None], logits: Tensor, lengths: Tensor, states: Tensor, *more: Tensor) -> None:
    """Call ``function(logits, lengths, states, *more, start, step)`` on several threads."""
    batch, n, _ = logits.shape
    if batch:
        threads = thread_count(batch, 4 * batch * n * states.shape[1])
        over_batch(function, threads, logits, lengths, states, *more)
