"""Sums over spanning trees by the kernels of non-projective trees; the reference handles required edges."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.gradients import differentiated, outside_derivative, owned, pull_backs
from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree import cpu as matrix_tree
from strukt.structures.spanning_tree import arcs as on_arcs
from strukt.structures.spanning_tree.reference import REFERENCE


def chart_shape(edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[int, int, int]:
    """Return the shape of the chart, ``(batch, n - 1, n)``, that of the arcs, in float64."""
    batch, n, _ = edges.shape
    return batch, max(n - 1, 0), max(n, 1)


def inside(edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return log-partition ``(batch,)`` and chart; time O(n^3) an item."""
    if _conditioned(edges, absent, lengths):
        with torch.no_grad():
            total = REFERENCE.log_partition(edges, absent, lengths)
        return total, edges.new_zeros(chart_shape(edges, absent, lengths), dtype=torch.float64)
    return matrix_tree.inside(on_arcs.to_arcs(edges), on_arcs.words(lengths), False)


def outside(
    edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the probability of each edge, times the weight of its item, and None for ``absent``."""
    if _conditioned(edges, absent, lengths):
        ((result, nothing),) = pull_backs(REFERENCE.log_partition, (edges, absent), (lengths,), [weights])
        return result, nothing
    result = matrix_tree.outside(on_arcs.to_arcs(edges), on_arcs.words(lengths), False, weights, chart)
    return on_arcs.from_arcs(result, edges.shape[-1]), torch.zeros_like(absent)


def derivative(
    edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, direction: Tensor, other: Tensor,
    chart: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return gradients of <`outside`, directions> with respect to edges, ``absent`` and the weights."""
    if _conditioned(edges, absent, lengths):
        given = (edges, absent, lengths, weights, direction, other)
        by_edge, nothing, by_weight = owned(differentiated(_reference_derivative, given))
        return by_edge, nothing, by_weight
    arcs, toward = on_arcs.to_arcs(edges), on_arcs.to_arcs(direction)
    by_arc, by_weight = matrix_tree.derivative(arcs, on_arcs.words(lengths), False, weights, toward, chart)
    return on_arcs.from_arcs(by_arc, edges.shape[-1]), torch.zeros_like(absent), by_weight


def _reference_derivative(
    edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, *directions: Tensor
) -> tuple[Tensor, ...]:
    return outside_derivative(REFERENCE.log_partition, (edges, absent), (lengths,), weights, directions)


def entropy(edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
    """Return the entropy ``(batch,)`` in nats."""
    if _conditioned(edges, absent, lengths):
        return REFERENCE.entropy(edges, absent, lengths)
    return matrix_tree.entropy(on_arcs.to_arcs(edges), on_arcs.words(lengths), False)


def entropy_gradient(
    edges: Tensor, absent: Tensor, lengths: Tensor, factors: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradient of the entropies times factors ``(batch,)``, and None for ``absent``."""
    if _conditioned(edges, absent, lengths):
        ((result, nothing),) = pull_backs(REFERENCE.entropy, (edges, absent), (lengths,), [factors])
        return result, nothing
    result = matrix_tree.entropy_gradient(on_arcs.to_arcs(edges), on_arcs.words(lengths), False, factors)
    return on_arcs.from_arcs(result, edges.shape[-1]), torch.zeros_like(absent)


def surprise(edges: Tensor, absent: Tensor, others: Tensor, other_absent: Tensor, lengths: Tensor) -> Tensor:
    """Return the cross-entropy -E[log q], q of the other scores: ``(batch,)`` in nats."""
    if _conditioned(edges, absent, lengths) or _conditioned(others, other_absent, lengths):
        return REFERENCE.cross_entropy((edges, absent), (others, other_absent), lengths)
    mine, theirs = on_arcs.to_arcs(edges), on_arcs.to_arcs(others)
    return matrix_tree.surprise(mine, theirs, on_arcs.words(lengths), False)


def surprise_gradient(
    edges: Tensor, absent: Tensor, others: Tensor, other_absent: Tensor, lengths: Tensor, factors: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradient of cross-entropies times factors for the first edges, and None for ``absent``."""
    if _conditioned(edges, absent, lengths) or _conditioned(others, other_absent, lengths):

        def number(edges: Tensor, absent: Tensor) -> Tensor:
            return REFERENCE.cross_entropy((edges, absent), (others, other_absent), lengths)

        ((result, nothing),) = pull_backs(number, (edges, absent), (), [factors])
        return result, nothing
    mine, theirs = on_arcs.to_arcs(edges), on_arcs.to_arcs(others)
    result = matrix_tree.surprise_gradient(mine, theirs, on_arcs.words(lengths), False, factors)
    return on_arcs.from_arcs(result, edges.shape[-1]), torch.zeros_like(absent)


def sample(edges: Tensor, absent: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return events ``(batch, count, n, n)`` and the log-partition, by Wilson's algorithm (1996)."""
    if _conditioned(edges, absent, lengths):
        return REFERENCE.sample(edges, absent, lengths, count)
    heads, log_partition = matrix_tree.sample(on_arcs.to_arcs(edges), on_arcs.words(lengths), False, count)
    scores = log_partition.unsqueeze(-1).expand(-1, count)
    return on_arcs.events(heads, scores, lengths, edges.shape[-1]), log_partition


def _conditioned(edges: Tensor, absent: Tensor, lengths: Tensor) -> bool:
    """Return True if an edge is required in some item."""
    return bool((absent == NEG_INF).any()) and bool(on_arcs.required_edges(edges, absent, lengths).any())
