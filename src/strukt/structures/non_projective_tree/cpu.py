"""Kernels of non-projective trees on the CPU: the Matrix-Tree theorem, Wilson's algorithm, Chu-Liu/Edmonds.

`cpu_matrix_tree` describes the chart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.engine.flat import indices_of_mark
from strukt.kernels.jit import over_batch, sample_threads, thread_count
from strukt.kernels.memory import empty, filled, no_events, zeros
from strukt.kernels.sparsemap.result import Result, Settings, Start, solve
from strukt.structures.non_projective_tree import (
    cpu_entropy,
    cpu_matrix_tree,
    cpu_matrix_tree_extended,
    cpu_max_marginals,
    cpu_sparsemap,
    cpu_wilson,
)


def chart_shape(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[int, int, int]:
    """Return the shape of the chart, ``(batch, n, n + 1)``, in float64."""
    batch, n, heads = arcs.shape
    return batch, n, heads


def inside(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)``, -inf without a tree, and the chart.

    Time O(n^3) per item, items in parallel.
    """
    chart, log_partition = empty(chart_shape(arcs, lengths, single_root)), zeros(lengths, torch.float64)
    _run(cpu_matrix_tree.inside, arcs, lengths, single_root, chart, log_partition)
    if _underflowed(chart) is not None:
        _run(cpu_matrix_tree_extended.inside, arcs, lengths, single_root, chart, log_partition)
    return log_partition.to(arcs.dtype), torch.from_numpy(chart)


def outside(arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """Return the probability of each arc, times the weight of its item, in the shape of ``arcs``; time O(n^3)."""
    marginals = zeros(arcs)
    _run(cpu_matrix_tree.outside, arcs, lengths, single_root, weights, chart, marginals)
    if _underflowed(chart.numpy()) is not None:
        _run(cpu_matrix_tree_extended.outside, arcs, lengths, single_root, weights, chart, marginals)
    return marginals


def derivative(
    arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, direction: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of <`outside`, direction> with respect to scores and weights; time O(n^3) per item."""
    grads, weights_grad = zeros(arcs), zeros(weights)
    more = (weights, direction, chart, grads, weights_grad)
    _run(cpu_matrix_tree.derivative, arcs, lengths, single_root, *more)
    if _underflowed(chart.numpy()) is not None:
        _run(cpu_matrix_tree_extended.derivative, arcs, lengths, single_root, *more)
    return grads, weights_grad


def sample(arcs: Tensor, lengths: Tensor, single_root: bool, count: int) -> tuple[Tensor, Tensor]:
    """Return heads ``(batch, count, n)`` and the log-partition; `cpu_wilson` describes the algorithm."""
    batch, n, _ = arcs.shape
    log_partition, chart = inside(arcs, lengths, single_root)
    ones, heads = torch.ones_like(log_partition), no_events(batch, count, n)
    roots = outside(arcs, lengths, single_root, ones, chart)[..., 0] if single_root else zeros(arcs[..., 0])
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    if n:
        threads, chunks = sample_threads(batch, count, batch * count * n * n)
        inputs = (arcs, lengths, single_root, roots.double(), log_partition > -torch.inf)
        over_batch(cpu_wilson.draw, threads, *inputs, seeds, chunks, heads)
    return heads, log_partition


def entropy(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the entropy ``(batch,)`` in nats; time O(n^3) per item; `cpu_entropy` has the formula."""
    return _surprise(arcs, None, lengths, single_root)


def surprise(arcs: Tensor, others: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the cross-entropy -E[log q] ``(batch,)`` in nats; q is the distribution of the scores ``others``."""
    return _surprise(arcs, others, lengths, single_root)


def entropy_gradient(arcs: Tensor, lengths: Tensor, single_root: bool, factors: Tensor) -> Tensor:
    """Return the gradient of the entropies times factors ``(batch,)``, in the shape of ``arcs``."""
    return _surprise_gradient(arcs, None, lengths, single_root, factors)


def surprise_gradient(
    arcs: Tensor, others: Tensor, lengths: Tensor, single_root: bool, factors: Tensor
) -> Tensor:
    """Return the gradient with respect to the first scores of the cross-entropies times factors ``(batch,)``."""
    return _surprise_gradient(arcs, others, lengths, single_root, factors)


def max_marginals(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return, for each arc, the best score of a tree with it, in the shape of ``arcs``; time O(n^3) per item."""
    best = filled(tuple(arcs.shape), -np.inf, torch.float64)
    _run(cpu_max_marginals.fill, arcs.double(), lengths, single_root, best)
    return best.to(arcs.dtype)


def sparsemap(arcs: Tensor, lengths: Tensor, single_root: bool, begin: Start, settings: Settings) -> Result:
    """Run SparseMAP and return its active sets of trees; each call of the oracle takes O(n^2)."""
    batch, n, heads = arcs.shape
    threads = thread_count(batch, batch * n**4)
    arguments = (arcs, lengths, single_root)
    return solve(cpu_sparsemap.solve, threads, batch, n * heads, n, begin, settings, *arguments)


def _run(kernel: Callable[..., None], arcs: Tensor, lengths: Tensor, single_root: bool, *more: Any) -> None:
    """Call ``kernel(arcs, lengths, single_root, *more, start, step)`` by `over_batch`, unless batch or n is 0."""
    batch, n, _ = arcs.shape
    if batch and n:
        over_batch(kernel, thread_count(batch, batch * n**3), arcs, lengths, single_root, *more)


def _underflowed(chart: Array) -> Tensor | None:
    """Return the indices of the items that `cpu_matrix_tree` marked as UNDERFLOWED; None if there are none."""
    return indices_of_mark(chart[:, :1, 1:2].ravel(), cpu_matrix_tree.UNDERFLOWED)


def _surprise(arcs: Tensor, others: Tensor | None, lengths: Tensor, single_root: bool) -> Tensor:
    """Return entropies, or cross-entropies if other scores are given, ``(batch,)``.

    The kernels take long to compile, so they are compiled for one type only.
    """
    result, exact = zeros(lengths, torch.float64), arcs.double()
    other = exact if others is None else others.double()
    _run(cpu_entropy.surprises, exact, lengths, single_root, other, others is None, result)
    return result.to(arcs.dtype)


def _surprise_gradient(
    arcs: Tensor, others: Tensor | None, lengths: Tensor, single_root: bool, factors: Tensor
) -> Tensor:
    """Return the gradients of `_surprise` times ``factors``, in the shape of ``arcs``."""
    grads, exact = zeros(arcs, torch.float64), arcs.double()
    other = exact if others is None else others.double()
    more = (other, others is None, factors.double(), grads)
    _run(cpu_entropy.gradients, exact, lengths, single_root, *more)
    return grads.to(arcs.dtype)
