"""Sums over spanning trees by the kernels of non-projective trees; with required edges the reference computes."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.gradients import pull_backs
from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree import cpu as matrix_tree
from strukt.structures.spanning_tree import arcs as on_arcs
from strukt.structures.spanning_tree.reference import REFERENCE


def chart_shape(edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[int, int, int]:
    """``(batch, n - 1, n)``, that of the arcs; charts are of float64."""
    batch, n, _ = edges.shape
    return batch, max(n - 1, 0), max(n, 1)


def inside(edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Log-partition ``(batch,)`` and chart; time O(n^3) an item."""
    if _conditioned(edges, absent, lengths):
        with torch.no_grad():
            total = REFERENCE.log_partition(edges, absent, lengths)
        return total, edges.new_zeros(chart_shape(edges, absent, lengths), dtype=torch.float64)
    return matrix_tree.inside(on_arcs.to_arcs(edges), on_arcs.words(lengths), False)


def outside(
    edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """The probability of each edge times the weight of its item, and nothing for ``absent``."""
    if _conditioned(edges, absent, lengths):
        ((found, nothing),) = pull_backs(REFERENCE.log_partition, (edges, absent), (lengths,), [weights])
        return found, nothing
    found = matrix_tree.outside(on_arcs.to_arcs(edges), on_arcs.words(lengths), False, weights, chart)
    return on_arcs.from_arcs(found, edges.shape[-1]), torch.zeros_like(absent)


def sample(edges: Tensor, absent: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Events ``(batch, count, n, n)`` and the log-partition: Wilson's walks (1996)."""
    if _conditioned(edges, absent, lengths):
        return REFERENCE.sample(edges, absent, lengths, count)
    heads, log_partition = matrix_tree.sample(on_arcs.to_arcs(edges), on_arcs.words(lengths), False, count)
    scores = log_partition.unsqueeze(-1).expand(-1, count)
    return on_arcs.events(heads, scores, lengths, edges.shape[-1]), log_partition


def _conditioned(edges: Tensor, absent: Tensor, lengths: Tensor) -> bool:
    """Whether an edge is required in some item."""
    return bool((absent == NEG_INF).any()) and bool(on_arcs.required_edges(edges, absent, lengths).any())
