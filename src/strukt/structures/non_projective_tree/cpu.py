"""Kernels of non-projective trees on the CPU: the Matrix-Tree theorem, Wilson's algorithm, Chu-Liu/Edmonds.

`cpu_matrix_tree` describes the chart.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.gradients import differentiated, outside_derivative, owned
from strukt.kernels.memory import filled, zeros
from strukt.kernels.sparsemap.result import Result, Settings, Start
from strukt.structures.non_projective_tree import (
    cpu_calls,
    cpu_entropy,
    cpu_matrix_tree,
    cpu_max_marginals,
    cpu_sparsemap,
    cpu_wilson,
)
from strukt.structures.non_projective_tree.reference import REFERENCE


def chart_shape(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[int, int, int]:
    """Return the shape of the chart, ``(batch, n, n + 1)``, in float64."""
    batch, n, heads = arcs.shape
    return batch, n, heads


def inside(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n^3) per item, items in parallel."""
    shape = chart_shape(arcs, lengths, single_root)
    return cpu_calls.inside(cpu_matrix_tree.inside, shape, arcs, lengths, single_root)


def outside(arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """Return the probability of each arc, times the weight of its item, in the shape of ``arcs``; time O(n^3)."""
    return cpu_calls.outside(cpu_matrix_tree.outside, arcs, lengths, single_root, weights, chart)


def derivative(
    arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, direction: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of <`outside`, direction> with respect to scores and weights; time O(n^3) per item.

    The reference computes the items that need log space.
    """
    grads, weights_grad = zeros(arcs), zeros(weights)
    arrays = (value.contiguous().numpy() for value in (weights, direction, chart))
    results = (grads.numpy(), weights_grad.numpy())
    cpu_calls.run(cpu_matrix_tree.derivative, arcs, lengths, single_root, *arrays, *results)
    left = (lengths > 0) & (chart.flatten(1)[:, 1:2] == cpu_matrix_tree.DECLINED).any(1)
    if left.any():
        tensors = [value[left] for value in (arcs, lengths, weights, direction)]
        grads[left], weights_grad[left] = owned(
            differentiated(_reference_derivative, (single_root, *tensors))
        )
    return grads, weights_grad


def _reference_derivative(
    single_root: bool, arcs: Tensor, lengths: Tensor, weights: Tensor, direction: Tensor
) -> tuple[Tensor, ...]:
    rest = (lengths, single_root)
    return outside_derivative(REFERENCE.log_partition, (arcs,), rest, weights, (direction,))


def sample(arcs: Tensor, lengths: Tensor, single_root: bool, count: int) -> tuple[Tensor, Tensor]:
    """Return heads ``(batch, count, n)`` and the log-partition; `cpu_wilson` describes the algorithm."""
    log_partition, chart = inside(arcs, lengths, single_root)
    ones = torch.ones_like(log_partition)
    roots = outside(arcs, lengths, single_root, ones, chart)[..., 0] if single_root else zeros(arcs[..., 0])
    feasible = (log_partition > -torch.inf).numpy()
    arrays = (roots.double().contiguous().numpy(), feasible)
    heads = cpu_calls.sample(cpu_wilson.draw, arcs, lengths, single_root, count, *arrays)
    return heads, log_partition


def entropy(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the entropy ``(batch,)`` in nats; time O(n^3) per item; `cpu_entropy` has the formula."""
    return cpu_calls.surprises(cpu_entropy.surprises, arcs, None, lengths, single_root)


def surprise(arcs: Tensor, others: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the cross-entropy -E[log q], where q has the other scores: ``(batch,)`` in nats."""
    return cpu_calls.surprises(cpu_entropy.surprises, arcs, others, lengths, single_root)


def entropy_gradient(arcs: Tensor, lengths: Tensor, single_root: bool, factors: Tensor) -> Tensor:
    """Return the gradient of the entropies times factors ``(batch,)``, in the shape of ``arcs``."""
    return cpu_calls.surprise_gradients(cpu_entropy.gradients, arcs, None, lengths, single_root, factors)


def surprise_gradient(
    arcs: Tensor, others: Tensor, lengths: Tensor, single_root: bool, factors: Tensor
) -> Tensor:
    """Return the gradient with respect to the first scores of the cross-entropies times factors ``(batch,)``."""
    return cpu_calls.surprise_gradients(cpu_entropy.gradients, arcs, others, lengths, single_root, factors)


def max_marginals(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return, for each arc, the best score of a tree with it, in the shape of ``arcs``; time O(n^3) per item."""
    best = filled(tuple(arcs.shape), -np.inf, torch.float64)
    cpu_calls.run(cpu_max_marginals.fill, arcs.double(), lengths, single_root, best.numpy())
    return best.to(arcs.dtype)


def sparsemap(arcs: Tensor, lengths: Tensor, single_root: bool, begin: Start, settings: Settings) -> Result:
    """Return the trees in the SparseMAP solution; each call of the oracle takes O(n^2)."""
    return cpu_calls.sparsemap(cpu_sparsemap.solve, arcs, lengths, single_root, begin, settings)
