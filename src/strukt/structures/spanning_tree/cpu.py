"""Sums over spanning trees by the kernels of non-projective trees; the reference handles required edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.gradients import differentiated, outside_derivative, owned, pull_backs
from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree import cpu as matrix_tree
from strukt.structures.spanning_tree import arcs as on_arcs
from strukt.structures.spanning_tree.reference import REFERENCE
from strukt.structures.spanning_tree.rooted import Rooted


class _Conditioned:
    """A backend of spanning trees with required edges, by the reference; its methods are those of `Rooted`."""

    entropy, sample = REFERENCE.entropy, REFERENCE.sample

    def inside(self, edges: Tensor, absent: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            total = REFERENCE.log_partition(edges, absent, lengths)
        return total, edges.new_zeros(chart_shape(edges, absent, lengths), dtype=torch.float64)

    def outside(
        self, edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, _chart: Tensor
    ) -> Scores:
        return pull_backs(REFERENCE.log_partition, (edges, absent), (lengths,), [weights])[0]

    def derivative(self, *arguments: Tensor) -> Scores:
        def number(
            edges: Tensor, absent: Tensor, lengths: Tensor, weights: Tensor, *directions: Tensor
        ) -> Scores:
            scores = (edges, absent)
            return outside_derivative(REFERENCE.log_partition, scores, (lengths,), weights, directions)

        return owned(differentiated(number, arguments[:-1]))  # without the chart

    def entropy_gradient(self, edges: Tensor, absent: Tensor, lengths: Tensor, factors: Tensor) -> Scores:
        return pull_backs(REFERENCE.entropy, (edges, absent), (lengths,), [factors])[0]

    def surprise(
        self, edges: Tensor, absent: Tensor, others: Tensor, other_absent: Tensor, lengths: Tensor
    ) -> Tensor:
        return REFERENCE.cross_entropy((edges, absent), (others, other_absent), lengths)

    def surprise_gradient(self, edges: Tensor, absent: Tensor, *rest: Tensor) -> Scores:
        *others, factors = rest
        return pull_backs(self.surprise, (edges, absent), others, [factors])[0]


_ROOTED, _CONDITIONED = Rooted(matrix_tree), _Conditioned()
chart_shape = _ROOTED.chart_shape


def _of_both(name: str) -> Callable[..., Any]:
    """Return a function that calls an operator of `_CONDITIONED` if an edge is required, else of `_ROOTED`."""

    def compute(*arguments: Any) -> Any:
        return getattr(_CONDITIONED if _require(*arguments) else _ROOTED, name)(*arguments)

    return compute


inside, outside, derivative, sample = map(_of_both, ("inside", "outside", "derivative", "sample"))
entropy, entropy_gradient = map(_of_both, ("entropy", "entropy_gradient"))
surprise, surprise_gradient = map(_of_both, ("surprise", "surprise_gradient"))


def _require(edges: Tensor, absent: Tensor, *rest: Any) -> bool:
    """Return True if an edge is required in some item.

    ``rest`` begins with the lengths, or, for cross-entropies, with the other two scores and then the lengths.
    """
    if rest[0].is_floating_point():
        others, other_absent, lengths = rest[:3]
        return _require(edges, absent, lengths) or _require(others, other_absent, lengths)
    return bool((absent == NEG_INF).any()) and bool(on_arcs.required_edges(edges, absent, rest[0]).any())
