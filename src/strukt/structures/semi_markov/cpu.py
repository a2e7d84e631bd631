"""Fused Numba kernels of semi-Markov chains: forward, backward, best segmentation, samples.

The segments that end at a position are summed over durations first, label by label. Then one product with the
matrix of transitions yields the weights of the segments that start there. Sums are computed in double precision
and in scaled probability space: at each position the totals are divided by a power of e near their sum, and the
cumulative exponent is stored with them. Exponents are integers, so that their differences are exact for sequences
of any length and scores of any size.

An item whose numbers could underflow is computed by the table program, in numbers that never do
(`strukt.kernels.engine.rings`). This is an item in which some nonzero weight, of a label at the end of a segment
or of a transition, is less than `linear_chain.cpu_weights.TINY` relative to the other weights there. The weight of
a single segment may underflow to 0: that changes a label's weight by less than the rounding of doubles.

Transitions are one matrix for each group of items, ``(g, c, c)``, or one for each boundary inside the sequence,
``(g, n - 1, c, c)``; the kernels see ``(g, s, c, c)`` in both cases. A matrix ``(1, 1)`` applies to all pairs of
labels.

The chart holds three pages for an item of length n: the totals over paths by the label of the segment that ends at
positions 1 to n; the totals by the label of the segment that starts at positions 0 to n - 1; and the exponents of
the latter. The first entry, otherwise unused, is the state of the chart (`cpu_forward.pages`). Memory is
O(n c) plus the weights of the transitions. The weights of segments are computed twice and not stored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.engine.flat import ExtendedPairs, FlatPairs, compute_chosen, indices_of_mark
from strukt.kernels.jit import over_batch, sample_threads, thread_count
from strukt.kernels.memory import empty, empty_tensor, filled, no_events, zeros
from strukt.structures.linear_chain.cpu import shared_weights
from strukt.structures.semi_markov import cpu_backward, cpu_forward, cpu_sample, cpu_viterbi, forward

_TABLE = FlatPairs(forward.build, forward.cells)
_EXTENDED = ExtendedPairs(_TABLE)
derivative = _TABLE.derivative
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient
max_marginals, max_marginals_gradient = _TABLE.max_marginals, _TABLE.max_marginals_gradient
sparsemap = _TABLE.sparsemap


def chart_shape(segments: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int]:
    """Return the shape of the chart, ``(batch, (n + 1) (2 c + 1))``, in float64."""
    batch, n, _, c = segments.shape
    return batch, (n + 1) * (2 * c + 1)


def inside(segments: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n k c + n c^2) per item, items in parallel."""
    log_partition, chart, underflowed = _sums(segments, transition, lengths)
    compute_chosen(_EXTENDED.inside, underflowed, (log_partition,), segments, transition, lengths)
    return log_partition.to(segments.dtype), chart


def _sums(segments: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the log-partition in float64, the chart, and the indices of items that underflow (None if none do).

    The log-partition of an item that underflows is 0.
    """
    chart = empty(chart_shape(segments, transition, lengths))
    chart[:, 0] = cpu_forward.EMPTY
    log_partition = zeros(lengths, torch.float64)
    steps = _by_step(segments, transition)
    _run(cpu_forward.forward, steps, segments, lengths, *_weights(steps, False), chart, log_partition)
    return log_partition, torch.from_numpy(chart), _underflowed(chart)


def outside(
    segments: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of segments and of transitions in the shapes of the scores, times ``weights (batch,)``.

    Entries of ``transition`` that several boundaries or items share get the sum of their marginals.
    """
    if not segments.numel():
        return zeros(segments), zeros(transition)
    marginals, steps = empty_tensor(segments.shape, segments), _by_step(segments, transition)
    used = np.zeros((_threads(segments, steps) if len(transition) < len(segments) else 1, *steps.shape))
    arrays = (*_weights(steps, True), weights, chart, marginals, used)
    _run(cpu_backward.backward, steps, segments, lengths, *arrays)
    results = (marginals, torch.from_numpy(used.sum(0).reshape(transition.shape)).to(transition.dtype))
    arguments = (segments, transition, lengths, weights, chart)
    compute_chosen(_EXTENDED.outside, _underflowed(chart.numpy()), results, *arguments)
    return results


def best(segments: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best segmentation, as labels ``(batch, n)``, and its score ``(batch,)``; time O(n k c + n c^2).

    Labels are at the first position of each segment, -1 elsewhere.
    """
    labels, scores = kbest(segments, transition, lengths, 1)
    return labels[:, 0], scores[:, 0]


def kbest(segments: Tensor, transition: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best segmentations, as labels ``(batch, k, n)``, and their scores ``(batch, k)``, best first.

    If there are fewer than k, the other labels are -1, and their scores -inf. Time O(n d c + n c^2 + k n (d + c))
    with durations up to d.
    """
    batch, n = segments.shape[:2]
    labels = no_events(batch, k, n)
    scores = filled((batch, k), -torch.inf, torch.float64)
    scores[:, 0] = 0.0
    steps = _by_step(segments, transition)
    _run(cpu_viterbi.kbest, steps, segments, steps, lengths, labels, scores)
    return labels, scores.to(segments.dtype)


def sample(segments: Tensor, transition: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return sampled labels ``(batch, count, n)`` and the log-partition ``(batch,)``.

    Segments are drawn from the end backwards (backward sampling), in O(n (k + c)) time per sample.
    """
    log_partition, chart, underflowed = _sums(segments, transition, lengths)
    batch, n = segments.shape[:2]
    labels = no_events(batch, count, n)
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    if segments.numel():
        threads, chunks = sample_threads(batch, count, batch * count * n)
        scores = (segments, _by_step(segments, transition), lengths)
        over_batch(cpu_sample.draw, threads, *scores, chart, seeds, chunks, labels)
    results = (labels, log_partition)
    compute_chosen(_EXTENDED.sample, underflowed, results, segments, transition, lengths, count)
    return labels, log_partition.to(segments.dtype)


def _underflowed(chart: Array) -> Tensor | None:
    """Return the indices of items whose chart is marked as underflowed; None if there are none."""
    return indices_of_mark(chart[:, 0], cpu_forward.UNDERFLOWED)


def _by_step(segments: Tensor, transition: Tensor) -> Tensor:
    """Return transitions with an axis of steps, of size 1 if all boundaries share them: ``(g, s, c, c)``."""
    return transition if transition.dim() == segments.dim() else transition.unsqueeze(1)


def _weights(transition: Tensor, transposed: bool) -> tuple[Array, Array]:
    """Return exp(transition - top), in the shape of ``transition``, and top for each matrix, ``(g, steps)``.

    Each top is an integer near the largest score; NaN if a weight could underflow.
    """
    groups, steps, rows, _ = transition.shape
    matrices, tops = shared_weights(transition.reshape(groups * steps, 1, rows, rows), transposed)
    tops[np.isinf(tops)] = np.nan  # in padding, which is not checked
    whole = np.rint(tops)
    matrices *= np.exp(tops - whole)[:, None, None]
    return matrices.reshape(transition.shape), whole.reshape(groups, steps)


def _run(function: Callable[..., None], steps: Tensor, segments: Tensor, *more: Tensor | Array) -> None:
    """Call ``function(segments, *more, start, step)`` on as many threads as `_threads` says."""
    if segments.numel():
        over_batch(function, _threads(segments, steps), segments, *more)


def _threads(segments: Tensor, steps: Tensor) -> int:
    """Return the number of threads for kernels that take O(n k c + n c^2) time per item."""
    batch, n = segments.shape[:2]
    return thread_count(batch, segments.numel() + batch * n * steps[0, :1].numel())
