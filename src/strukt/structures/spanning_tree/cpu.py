"""Sums over spanning trees by the kernels of non-projective trees; the reference handles required edges."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.gradients import differentiated, outside_derivative, owned, pull_backs
from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree import cpu as matrix_tree
from strukt.structures.spanning_tree import arcs as on_arcs
from strukt.structures.spanning_tree.reference import REFERENCE
from strukt.structures.spanning_tree.rooted import Rooted

_ROOTED = Rooted(matrix_tree)
chart_shape = _ROOTED.chart_shape


def inside(edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; time O(n^3) per item."""
    if _conditioned(edges, absent, lengths):
        with torch.no_grad():
            total = REFERENCE.log_partition(edges, absent, lengths)
        return total, edges.new_zeros(chart_shape(edges, absent, lengths), dtype=torch.float64)
    return _ROOTED.inside(edges, absent, lengths)


def outside(
    edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of edges times the item's weight, and a gradient of 0 for ``absent``."""
    if _conditioned(edges, absent, lengths):
        ((result, nothing),) = pull_backs(REFERENCE.log_partition, (edges, absent), (lengths,), [weights])
        return result, nothing
    return _ROOTED.outside(edges, absent, lengths, weights, chart)


def derivative(
    edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, direction: Tensor, other: Tensor,
    chart: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return gradients of <`outside`, directions> with respect to edges, ``absent`` and the weights."""
    if _conditioned(edges, absent, lengths):
        inputs = (edges, absent, lengths, weights, direction, other)
        by_edge, nothing, by_weight = owned(differentiated(_reference_derivative, inputs))
        return by_edge, nothing, by_weight
    return _ROOTED.derivative(edges, absent, lengths, weights, direction, other, chart)


def _reference_derivative(
    edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, *directions: Tensor
) -> tuple[Tensor, ...]:
    return outside_derivative(REFERENCE.log_partition, (edges, absent), (lengths,), weights, directions)


def entropy(edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
    """Return the entropy ``(batch,)`` in nats."""
    if _conditioned(edges, absent, lengths):
        return REFERENCE.entropy(edges, absent, lengths)
    return _ROOTED.entropy(edges, absent, lengths)


def entropy_gradient(
    edges: Tensor, absent: Tensor, lengths: Tensor, factors: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradient of the entropies, times factors ``(batch,)``, for the edges, and 0 for ``absent``."""
    if _conditioned(edges, absent, lengths):
        ((result, nothing),) = pull_backs(REFERENCE.entropy, (edges, absent), (lengths,), [factors])
        return result, nothing
    return _ROOTED.entropy_gradient(edges, absent, lengths, factors)


def surprise(edges: Tensor, absent: Tensor, others: Tensor, other_absent: Tensor, lengths: Tensor) -> Tensor:
    """Return the cross-entropy -E[log q] ``(batch,)`` in nats; q is the distribution of the other scores."""
    if _conditioned(edges, absent, lengths) or _conditioned(others, other_absent, lengths):
        return REFERENCE.cross_entropy((edges, absent), (others, other_absent), lengths)
    return _ROOTED.surprise(edges, absent, others, other_absent, lengths)


def surprise_gradient(
    edges: Tensor, absent: Tensor, others: Tensor, other_absent: Tensor, lengths: Tensor, factors: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradient of the cross-entropies times factors with respect to ``edges``, and 0 for ``absent``."""
    if _conditioned(edges, absent, lengths) or _conditioned(others, other_absent, lengths):

        def number(edges: Tensor, absent: Tensor) -> Tensor:
            return REFERENCE.cross_entropy((edges, absent), (others, other_absent), lengths)

        ((result, nothing),) = pull_backs(number, (edges, absent), (), [factors])
        return result, nothing
    return _ROOTED.surprise_gradient(edges, absent, others, other_absent, lengths, factors)


def sample(edges: Tensor, absent: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return events ``(batch, count, n, n)`` and the log-partition, by Wilson's algorithm (1996)."""
    if _conditioned(edges, absent, lengths):
        return REFERENCE.sample(edges, absent, lengths, count)
    return _ROOTED.sample(edges, absent, lengths, count)


def _conditioned(edges: Tensor, absent: Tensor, lengths: Tensor) -> bool:
    """Return True if an edge is required in some item."""
    return bool((absent == NEG_INF).any()) and bool(on_arcs.required_edges(edges, absent, lengths).any())
