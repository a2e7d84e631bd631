"""Fused Numba kernels of the linear chain: forward, backward, best sequence, samples.

Sums are taken in double precision, best scores in the precision of the scores. Items run in scaled
probability space (shift by the maximum, multiply, renormalise, add the logs) as long as no weight that
matters can underflow: every weight and every forward probability that is not exactly zero must be at least
`cpu_probability.TINY`, so that the product of any three is a normal number. Backwards nothing flows through tags
of forward probability zero. An item that breaks this runs
again in log space. Both are exact; the first takes no exponentials in its inner loops. Items that share one
matrix run in blocks, step by step together, so that each row of the matrix is fetched once for all of them.

The chart holds the normalised forward probabilities (or logs) of each position, and in its last column the
normaliser of the step in probability space, or -1 for items in log space.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.engine.flat import FlatPairs
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import empty, filled, no_events, zeros
from strukt.kernels.sparsemap.found import Found, Settings, Start, solve
from strukt.structures.linear_chain import (
    cpu_backward,
    cpu_best,
    cpu_derivative,
    cpu_forward,
    cpu_log,
    cpu_probability,
    cpu_sample,
    cpu_sparsemap,
    program,
)
from strukt.structures.linear_chain.cpu_log import Array

_TABLE = FlatPairs(program.build)
entropy, entropy_gradient = _TABLE.entropy, _TABLE.entropy_gradient
surprise, surprise_gradient = _TABLE.surprise, _TABLE.surprise_gradient
max_marginals, max_marginals_gradient = _TABLE.max_marginals, _TABLE.max_marginals_gradient


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int, int]:
    """``(batch, n, c + 1)``; charts are of float64."""
    batch, n, c = unary.shape
    return batch, n, c + 1


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n c^2) an item, items in parallel."""
    batch, _, c = unary.shape
    chart = torch.from_numpy(empty(chart_shape(unary, transition, lengths)))
    log_partition = unary.new_zeros(batch, dtype=torch.float64)
    arrays, threads = _arrays(unary, transition, lengths), _threads(unary)
    weighed = shared_weights(arrays[1], False) if transition.shape[1] == 1 else _room(threads, c)
    _run(cpu_forward.forward, threads, *arrays, *weighed, chart.numpy(), log_partition.numpy())
    return log_partition.to(unary.dtype), chart


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Expected tags ``(batch, n, c)`` and transitions, each item times its weight, in the shapes of the scores."""
    batch, n, c = unary.shape
    groups, steps = transition.shape[:2]
    if not unary.numel():
        return zeros(unary), zeros(transition)
    tags, pairs = torch.from_numpy(empty(unary.shape, unary.numpy().dtype)), zeros(transition)
    scores, threads = _arrays(unary, transition, lengths), _threads(unary)
    arrays = (weights.contiguous().numpy(), chart.numpy(), tags.numpy())
    log_space = cpu_probability.LOG_SPACE in chart.numpy()[:, 0, -1].tolist()
    separate = groups < batch and (log_space or steps == n - 1)
    each = np.zeros((batch, *transition.shape[1:])) if separate else pairs.numpy()
    if steps == n - 1:
        _run(cpu_backward.backward_per_step, threads, *scores, *arrays, each)
    else:
        expected = empty((threads if groups < batch else 1, groups, c, c))
        expected.fill(0.0)
        blocks = empty((threads, cpu_probability.BLOCK, cpu_backward.WINDOW, c))
        matrices, _ = shared_weights(scores[1], True)
        _run(cpu_backward.backward_shared, threads, *scores, matrices, *arrays, expected, blocks)
        cpu_backward.times_weights(scores[1], expected, pairs.numpy())
    if log_space:
        _run(cpu_log.backward, threads, *scores, *arrays, each)
    if separate:
        pairs += torch.from_numpy(each.reshape(groups, batch // groups, *transition.shape[1:]).sum(1)).to(
            pairs.dtype
        )
    return tags, pairs


def derivative(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor,
    tag_direction: Tensor, pair_direction: Tensor, chart: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of <`outside`, directions> in the scores and in the weights; time O(n c^2) an item."""
    batch, groups = len(unary), len(transition)
    tags, weights_grad = zeros(unary), zeros(weights)
    each = np.zeros((batch, *transition.shape[1:]))
    given = [value.contiguous().numpy() for value in (weights, tag_direction, pair_direction, chart)]
    arrays = (*_arrays(unary, transition, lengths), *given, tags.numpy(), each, weights_grad.numpy())
    _run(cpu_derivative.derivative, _threads(unary), *arrays)
    shared = each.reshape(groups, -1, *transition.shape[1:]).sum(1) if groups < batch else each
    return tags, torch.from_numpy(shared).to(transition.dtype), weights_grad


def best(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The best tags ``(batch, n)`` and their score (Viterbi 1967); time O(n c^2)."""
    tags = no_events(*unary.shape[:2])
    score = unary.new_zeros(len(unary), dtype=torch.float64)
    _run(cpu_best.viterbi, _threads(unary), *_arrays(unary, transition, lengths), tags.numpy(), score.numpy())
    return tags, score.to(unary.dtype)


def kbest(unary: Tensor, transition: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best tags ``(batch, k, n)`` and their scores; time O(n c^2 + k n c)."""
    batch, n, _ = unary.shape
    tags = no_events(batch, k, n)
    scores = filled((batch, k), -torch.inf, torch.float64)
    scores[:, 0] = 0.0
    _run(cpu_best.kbest, _threads(unary), *_arrays(unary, transition, lengths), tags.numpy(), scores.numpy())
    return tags, scores.to(unary.dtype)


def sample(unary: Tensor, transition: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Tags ``(batch, count, n)`` by forward filtering and backward sampling, O(n c) each; the log-partition."""
    log_partition, chart = inside(unary, transition, lengths)
    batch, n, _ = unary.shape
    uniform = torch.rand(batch, count, n, dtype=torch.float64)
    tags = no_events(batch, count, n)
    _run(
        cpu_sample.draw,
        _threads(unary),
        *_arrays(unary, transition, lengths),
        chart.numpy(),
        uniform.numpy(),
        tags.numpy(),
    )
    return tags, log_partition


def sparsemap(unary: Tensor, transition: Tensor, lengths: Tensor, begin: Start, settings: Settings) -> Found:
    """The sequences of SparseMAP; each call of Viterbi's algorithm takes O(n c^2)."""
    batch, n, c = unary.shape
    arrays = _arrays(unary, transition, lengths)
    threads = thread_count(batch, 100 * batch * n * c * c)
    return solve(cpu_sparsemap.solve, threads, batch, n * c, n, begin, settings, *arrays)


def _room(count: int, c: int) -> tuple[Array, Array]:
    """Uninitialised matrices and what is to be added to their logs."""
    return empty((count, c, c)), empty((count,))


def shared_weights(transition: Array, transposed: bool) -> tuple[Array, Array]:
    """The weights of transitions that all steps share, one matrix for each group, and their tops."""
    groups, _, c, _ = transition.shape
    matrices, tops = _room(groups, c)
    if c:
        threads = thread_count(groups, groups * c * c)
        over_batch(cpu_probability.weigh_shared, threads, transition, transposed, matrices, tops)
    return matrices, tops


def _arrays(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Array, Array, Array]:
    tensors = (unary, transition, lengths)
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)  # type: ignore[return-value]


def _run(function: Callable[..., None], threads: int, unary: Array, *arrays: Array) -> None:
    if unary.size:
        over_batch(function, threads, unary, *arrays)


def _threads(unary: Tensor) -> int:
    batch, n, c = unary.shape
    return thread_count(batch, batch * n * c * c)
