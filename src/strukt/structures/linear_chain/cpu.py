"""Fused Numba kernels of the linear chain: forward, backward, Viterbi, samples, SparseMAP.

Arguments are ``unary (batch, n, c)``, ``transition (g, s, c, c)`` and ``lengths (batch,)``, as in
`reference.recursion`.

Sums and the k best scores are computed in double precision, the single best score in the precision of the scores.
Items run in scaled probability space (shift by the maximum, multiply, renormalise, add the logs) as long as no
weight that matters can underflow: every nonzero weight and forward probability must be at least
`cpu_weights.TINY`, so that the product of any three is a normal number. The backward pass skips tags of forward
probability zero. The table program computes any other item, in numbers that never underflow
(`strukt.kernels.engine.rings`). If one matrix serves all items at all steps, the items run together in blocks,
step by step, so that each row of the matrix is fetched once for a whole block.

The chart holds the normalised forward probabilities of each position, and in its last column the normaliser of the
position. For an item that underflows it holds only the mark `cpu_weights.UNDERFLOWED`, in the last column of the
first position.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.engine.flat import ExtendedPairs, FlatPairs, compute_chosen, indices_of_mark
from strukt.kernels.gradients import group_sums
from strukt.kernels.jit import array_of, over_batch, thread_count
from strukt.kernels.memory import empty, empty_tensor, filled, no_events, zeros
from strukt.kernels.sparsemap.result import Result, Settings, Start, solve
from strukt.structures.linear_chain import (
    cpu_backward,
    cpu_derivative,
    cpu_forward,
    cpu_sample,
    cpu_sparsemap,
    cpu_viterbi,
    cpu_weights,
    forward,
)

_TABLE = FlatPairs(forward.build, forward.cells)
_EXTENDED = ExtendedPairs(_TABLE)
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient
max_marginals, max_marginals_gradient = _TABLE.max_marginals, _TABLE.max_marginals_gradient


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int, int]:
    """Return the shape of the chart, ``(batch, n, c + 1)``, in float64."""
    batch, n, c = unary.shape
    return batch, n, c + 1


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n c^2) per item, items in parallel."""
    log_partition, chart, underflowed = _sums(unary, transition, lengths)
    compute_chosen(_EXTENDED.inside, underflowed, (log_partition,), unary, transition, lengths)
    return log_partition.to(unary.dtype), chart


def _sums(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the log-partition in float64, the chart, and the indices of items that underflow (None if none do).

    The log-partition of an item that underflows is 0.
    """
    batch, _, c = unary.shape
    chart = empty(chart_shape(unary, transition, lengths))
    log_partition = unary.new_zeros(batch, dtype=torch.float64)
    threads = _threads(unary)
    weighted = shared_weights(transition, False) if transition.shape[1] == 1 else _workspace(threads, c)
    _run(cpu_forward.forward, threads, unary, transition, lengths, *weighted, chart, log_partition)
    return log_partition, torch.from_numpy(chart), _underflowed(chart)


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of tags and of transitions, times ``weights (batch,)``, in the shapes of the scores.

    Entries of ``transition`` that several steps or items share get the sum of their marginals.
    """
    batch, n, c = unary.shape
    groups, steps = transition.shape[:2]
    if not unary.numel():
        return zeros(unary), zeros(transition)
    tags, pairs = empty_tensor(unary.shape, unary), zeros(transition)
    scores, threads, more = (unary, transition, lengths), _threads(unary), (weights, chart, tags)
    separate = groups < batch and steps == n - 1
    each = torch.zeros(batch, *transition.shape[1:], dtype=torch.float64) if separate else pairs
    if steps == n - 1:
        _run(cpu_backward.backward_per_step, threads, *scores, *more, each)
    else:
        expected = empty((threads if groups < batch else 1, groups, c, c))
        expected.fill(0.0)
        blocks = empty((threads, cpu_weights.BLOCK, cpu_backward.WINDOW, c))
        matrices, _ = shared_weights(transition, True)
        _run(cpu_backward.backward_shared, threads, *scores, matrices, *more, expected, blocks)
        cpu_backward.times_weights(array_of(transition), expected, pairs.numpy())
    if separate:
        pairs += group_sums(each, groups).to(pairs.dtype)
    results = (tags, pairs)
    compute_chosen(_EXTENDED.outside, _underflowed(chart.numpy()), results, *scores, weights, chart)
    return results


def derivative(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor,
    tag_direction: Tensor, pair_direction: Tensor, chart: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of <`outside`, directions>; time O(n c^2) per item.

    They are the gradients with respect to ``unary``, ``transition`` and ``weights``, in this order.
    """
    tags, weights_grad = zeros(unary), zeros(weights)
    each = torch.zeros(len(unary), *transition.shape[1:], dtype=torch.float64)
    arguments = (unary, transition, lengths, weights, tag_direction, pair_direction, chart)
    _run(cpu_derivative.derivative, _threads(unary), *arguments, tags, each, weights_grad)
    shared = group_sums(each, len(transition)) if len(transition) < len(each) else each
    grads = (tags, shared.to(transition.dtype), weights_grad)
    compute_chosen(_EXTENDED.derivative, _underflowed(chart.numpy()), grads, *arguments)
    return grads


def best(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best tags ``(batch, n)``, -1 in the padding, and their score (Viterbi 1967); time O(n c^2)."""
    tags = no_events(*unary.shape[:2])
    score = unary.new_zeros(len(unary), dtype=torch.float64)
    _run(cpu_viterbi.viterbi, _threads(unary), unary, transition, lengths, tags, score)
    return tags, score.to(unary.dtype)


def kbest(unary: Tensor, transition: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best tag sequences ``(batch, k, n)`` and their scores ``(batch, k)``, best first.

    If there are fewer than k, the other tags are -1, and their scores -inf. Time O(n c^2 + k n c).
    """
    batch, n, _ = unary.shape
    tags = no_events(batch, k, n)
    scores = filled((batch, k), -torch.inf, torch.float64)
    scores[:, 0] = 0.0
    _run(cpu_viterbi.kbest, _threads(unary), unary, transition, lengths, tags, scores)
    return tags, scores.to(unary.dtype)


def sample(unary: Tensor, transition: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return sampled tags ``(batch, count, n)`` and the log-partition ``(batch,)``.

    Tags are drawn from the last position to the first (backward sampling, FFBS), in O(n c) time per sample.
    """
    log_partition, chart, underflowed = _sums(unary, transition, lengths)
    batch, n, _ = unary.shape
    uniform = torch.rand(batch, count, n, dtype=torch.float64)
    tags = no_events(batch, count, n)
    _run(cpu_sample.draw, _threads(unary), unary, transition, lengths, chart, uniform, tags)
    compute_chosen(_EXTENDED.sample, underflowed, (tags, log_partition), unary, transition, lengths, count)
    return tags, log_partition.to(unary.dtype)


def sparsemap(unary: Tensor, transition: Tensor, lengths: Tensor, begin: Start, settings: Settings) -> Result:
    """Return the tag sequences in the SparseMAP solution; each call of Viterbi's algorithm takes O(n c^2)."""
    batch, n, c = unary.shape
    threads = thread_count(batch, 100 * batch * n * c * c)
    scores = (unary, transition, lengths)
    return solve(cpu_sparsemap.solve, threads, batch, n * c, n, begin, settings, *scores)


def last_logs(unary: Tensor, transition: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """Return the logs of the forward sums at the last position, ``(batch, c)``, up to a constant per item.

    The rows of items shorter than n hold arbitrary numbers.
    """
    logs = chart[:, -1, :-1].log()
    underflowed, labels = _underflowed(chart.numpy()), unary.shape[2]
    compute_chosen(_EXTENDED.log_ends, underflowed, (logs,), unary, transition, lengths, labels)
    return logs


def _underflowed(chart: Array) -> Tensor | None:
    """Return the indices of items whose chart is marked as underflowed; None if there are none."""
    return indices_of_mark(chart[:, :1, -1].ravel(), cpu_weights.UNDERFLOWED)


def _workspace(count: int, c: int) -> tuple[Array, Array]:
    """Allocate matrices of weights ``(count, c, c)`` and the maxima of their scores ``(count,)``."""
    return empty((count, c, c)), empty((count,))


def shared_weights(transition: Tensor, transposed: bool) -> tuple[Array, Array]:
    """Return exp(transition - top) ``(g, c, c)`` and top ``(g,)``, where one matrix serves all steps of a group.

    ``top``, the largest score of the matrix, is NaN if a weight could underflow. If ``transposed``, the matrices
    are transposed.
    """
    groups, _, c, _ = transition.shape
    matrices, tops = _workspace(groups, c)
    if c:
        threads = thread_count(groups, groups * c * c)
        over_batch(cpu_weights.weigh_shared, threads, transition, transposed, matrices, tops)
    return matrices, tops


def _run(function: Callable[..., None], threads: int, unary: Tensor, *more: Tensor | Array) -> None:
    """Call ``function(unary, *more, start, step)`` on threads, unless there are no scores."""
    if unary.numel():
        over_batch(function, threads, unary, *more)


def _threads(unary: Tensor) -> int:
    """Return the number of threads for kernels that take O(n c^2) time per item."""
    batch, n, c = unary.shape
    return thread_count(batch, batch * n * c * c)
