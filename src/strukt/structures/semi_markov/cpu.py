"""Fused Numba kernels of semi-Markov chains: forward, backward, best segmentation, samples.

What ends at a position is summed over durations first, each label on its own; then one product with the matrix
of transitions gives what may start there. Sums are taken in double precision and in scaled probability space:
at each position the ways to be there are divided by a power of e near their sum, and the exponent, counted from
the start, is kept beside them. Exponents are whole numbers, so that their differences are exact however long the
sequence is and however large its scores are. An item of which a label at the end of a segment, or a transition,
weighs less than `chain.cpu_probability.TINY` but not nothing, relative to the others there, runs again in log
space. Single segments may vanish: that changes a label's weight by less than the rounding of doubles. A transition
matrix of one row and one column stands for all pairs of labels.

Transitions are one matrix for each group of items, ``(g, c, c)``, or one for each boundary inside the sequence,
``(g, n - 1, c, c)``; the kernels see ``(g, s, c, c)`` in both cases.

The chart holds for an item of length n three pages: what starts at positions 0 to n - 1, by label; what ends at
1 to n, by label; and the exponents of what starts. Entry ``[0, 0]`` of the second page, which would be unused,
names the space. Memory is O(n c), and the weights of the transitions: those of segments are computed twice and not
stored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.engine.flat import FlatPairs
from strukt.kernels.jit import over_batch, sample_threads, thread_count
from strukt.kernels.memory import empty, filled, no_events, zeros
from strukt.structures.linear_chain.cpu import shared_weights
from strukt.structures.semi_markov import cpu_best, cpu_probability, cpu_sample, program
from strukt.structures.semi_markov.cpu_log import Array

_TABLE = FlatPairs(program.build)
derivative = _TABLE.derivative
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient
max_marginals, max_marginals_gradient = _TABLE.max_marginals, _TABLE.max_marginals_gradient


def chart_shape(segments: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int]:
    """``(batch, (n + 1) (2 c + 1))``; charts are of float64."""
    batch, n, _, c = segments.shape
    return batch, (n + 1) * (2 * c + 1)


def inside(segments: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n k c + n c^2) an item, items in parallel."""
    chart = torch.from_numpy(empty(chart_shape(segments, transition, lengths)))
    log_partition = zeros(lengths, torch.float64)
    arrays = _arrays(segments, transition, lengths)
    matrices, tops = _weights(arrays[1], False)
    _run(cpu_probability.forward, *arrays, matrices, tops, chart.numpy(), log_partition.numpy())
    return log_partition.to(segments.dtype), chart


def outside(
    segments: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Expected segments and transitions, each item times its weight, in the shapes of the scores."""
    if not segments.numel():
        return zeros(segments), zeros(transition)
    marginals = torch.from_numpy(empty(segments.shape, segments.numpy().dtype))
    arrays = _arrays(segments, transition, lengths)
    matrices, tops = _weights(arrays[1], True)
    slots = _threads(arrays[0], arrays[1]) if len(transition) < len(segments) else 1
    pairs = np.zeros((slots, *arrays[1].shape))
    weighed = (matrices, tops, weights.contiguous().numpy(), chart.numpy())
    _run(cpu_probability.backward, *arrays, *weighed, marginals.numpy(), pairs)
    return marginals, torch.from_numpy(pairs.sum(0).reshape(transition.shape)).to(transition.dtype)


def best(segments: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The labels of the best segmentation ``(batch, n)`` and its score; time O(n k c + n c^2)."""
    labels = no_events(*segments.shape[:2])
    score = zeros(lengths, torch.float64)
    _run(cpu_best.viterbi, *_arrays(segments, transition, lengths), labels.numpy(), score.numpy())
    return labels, score.to(segments.dtype)


def kbest(segments: Tensor, transition: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The labels of the k best segmentations ``(batch, k, n)`` and their scores.

    Time O(n d c + n c^2 + k n (d + c)) with durations up to d.
    """
    batch, n = segments.shape[:2]
    labels = no_events(batch, k, n)
    scores = filled((batch, k), -torch.inf, torch.float64)
    scores[:, 0] = 0.0
    _run(cpu_best.kbest, *_arrays(segments, transition, lengths), labels.numpy(), scores.numpy())
    return labels, scores.to(segments.dtype)


def sample(segments: Tensor, transition: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Labels ``(batch, count, n)``, drawn from the end backwards in O(n (k + c)) each; the log-partition."""
    log_partition, chart = inside(segments, transition, lengths)
    batch, n = segments.shape[:2]
    labels = no_events(batch, count, n)
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    if segments.numel():
        threads, chunks = sample_threads(batch, count, batch * count * n)
        arrays = _arrays(segments, transition, lengths)
        over_batch(cpu_sample.draw, threads, *arrays, chart.numpy(), seeds.numpy(), chunks, labels.numpy())
    return labels, log_partition


def _arrays(segments: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Array, Array, Array]:
    steps = transition if transition.dim() == segments.dim() else transition.unsqueeze(1)
    tensors = (segments, steps, lengths)
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)  # type: ignore[return-value]


def _weights(transition: Array, transposed: bool) -> tuple[Array, Array]:
    """exp(transition - top) of each matrix; top is a whole number, NaN where a weight could underflow."""
    groups, steps, rows, _ = transition.shape
    matrices, tops = shared_weights(transition.reshape(groups * steps, 1, rows, rows), transposed)
    tops[np.isinf(tops)] = np.nan  # in padding, or not checked
    whole = np.rint(tops)
    matrices *= np.exp(tops - whole)[:, None, None]
    return matrices.reshape(transition.shape), whole.reshape(groups, steps)


def _run(function: Callable[..., None], segments: Array, transition: Array, *arrays: Array) -> None:
    if segments.size:
        over_batch(function, _threads(segments, transition), segments, transition, *arrays)


def _threads(segments: Array, transition: Array) -> int:
    batch, n = segments.shape[:2]
    return thread_count(batch, segments.size + batch * n * transition[0, :1].size)
