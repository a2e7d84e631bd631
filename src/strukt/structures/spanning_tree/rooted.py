"""Operators of spanning trees without required edges, by those of non-projective trees rooted at vertex 0."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.structures.spanning_tree import arcs as on_arcs


class Rooted:
    """A backend of spanning trees; ``absent`` is not read, since no edge is required.

    Args:
        trees: The backend of non-projective trees, for the same device.
    """

    def __init__(self, trees: Any) -> None:
        self._trees = trees

    def chart_shape(self, edges: Tensor, *_: Any) -> tuple[int, ...]:
        """Return the shape of the chart, which is that of the non-projective trees."""
        arcs = edges[:, 1:] if edges.numel() else on_arcs.to_arcs(edges)
        shape: tuple[int, ...] = self._trees.chart_shape(arcs, None, False)
        return shape

    def inside(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-partition ``(batch,)`` and the chart; time O(n^3) per item."""
        total, chart = self._trees.inside(*_inputs(edges, lengths))
        return total, chart

    def outside(
        self, edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the marginals of edges times ``weights (batch,)``, ``(batch, n, n)``, and 0 for ``absent``."""
        return _by_edge(self._trees.outside(*_inputs(edges, lengths), weights, chart), edges, absent)

    def derivative(
        self, edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, direction: Tensor, other: Tensor,
        chart: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Return gradients of <`outside`, directions> with respect to edges, ``absent`` and the weights."""
        toward = on_arcs.to_arcs(direction)
        by_arc, by_weight = self._trees.derivative(*_inputs(edges, lengths), weights, toward, chart)
        return *_by_edge(by_arc, edges, absent), by_weight

    def entropy(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
        """Return the entropy ``(batch,)`` in nats."""
        result: Tensor = self._trees.entropy(*_inputs(edges, lengths))
        return result

    def entropy_gradient(
        self, edges: Tensor, absent: Tensor, lengths: Tensor, factors: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the gradient of the entropies times factors ``(batch,)``, and 0 for ``absent``."""
        return _by_edge(self._trees.entropy_gradient(*_inputs(edges, lengths), factors), edges, absent)

    def surprise(
        self, edges: Tensor, absent: Tensor, others: Tensor, other_absent: Tensor, lengths: Tensor
    ) -> Tensor:
        """Return the cross-entropy -E[log q] ``(batch,)`` in nats; q is the distribution of the other scores."""
        mine, *rest = _inputs(edges, lengths)
        result: Tensor = self._trees.surprise(mine, on_arcs.to_arcs(others), *rest)
        return result

    def surprise_gradient(
        self, edges: Tensor, absent: Tensor, others: Tensor, other_absent: Tensor, lengths: Tensor,
        factors: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Return the gradient of the cross-entropies times ``factors (batch,)`` in ``edges``; 0 for ``absent``."""
        mine, *rest = _inputs(edges, lengths)
        by_arc = self._trees.surprise_gradient(mine, on_arcs.to_arcs(others), *rest, factors)
        return _by_edge(by_arc, edges, absent)

    def sample(self, edges: Tensor, absent: Tensor, lengths: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Return events ``(batch, count, n, n)`` and the log-partition, by Wilson's algorithm (1996)."""
        heads, log_partition = self._trees.sample(*_inputs(edges, lengths), count)
        scores = log_partition.unsqueeze(-1).expand(-1, count)
        return on_arcs.events(heads, scores, lengths, edges.shape[-1]), log_partition


def _inputs(edges: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, bool]:
    """Return the scores of arcs, the numbers of words, and False: the root may have several children."""
    return on_arcs.to_arcs(edges), on_arcs.word_counts(lengths), False


def _by_edge(by_arc: Tensor, edges: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values of edges ``(batch, n, n)`` from those of their arcs, and 0 for ``absent``."""
    return on_arcs.from_arcs(by_arc, edges.shape[-1]), torch.zeros_like(absent)
