"""Ternary scores from low-rank factors, which distances or channels may share."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.kernels import distance_attention, weighted_buckets
from strukt.kernels.buckets import Buckets
from strukt.nn.inputs import precise, require_sizes
from strukt.nn.ternary.base import BucketedTernary, Ternary, as_tables, projected, projected_back


class Factored(Ternary):
    """Ternary scores from two factors ``(d, f, h, r)``; if scores are symmetric, both factors are the same.

    There are d labels, f buckets of distances, h channels and rank r. The axis f or h has size 1 if distances or
    channels share factors; weights then distinguish them. A subclass makes factors and weights, as `UV`, `UVW` and
    `WeightedUV` do. Arguments are those of `Ternary`.
    """

    weights: nn.Parameter | None

    def _set_factors(self, symmetric: bool, *shape: int) -> None:
        require_sizes(rank=shape[-1])
        self.left = _factor(*shape)
        # A parameter under two names could not be saved.
        self.right = None if symmetric else _factor(*shape)
        self.weights = None

    @property
    def _left(self) -> Tensor:
        return precise(self.left)

    @property
    def _right(self) -> Tensor:
        return precise(self.left if self.right is None else self.right)

    @property
    def _weights(self) -> Tensor | None:
        return None if self.weights is None else precise(self.weights)

    def factors(self) -> tuple[Tensor, Tensor]:
        left, weights = as_tables(self._left), self._weights
        if weights is not None:
            left = left * weights.unsqueeze(2)
        return left, as_tables(self._right).expand(*left.shape[:2], -1, -1)

    def messages(
        self, probabilities: Tensor, inside: Tensor, weight: float, causal: bool, tells_heads: bool
    ) -> Tensor:
        over_heads, over_dependents = distance_attention.messages(
            projected(probabilities, self._left),
            projected(probabilities, self._right),
            self._weights,
            inside,
            self.buckets,
            scale=1 / weight,
            causal=causal,
            transposed=tells_heads,
        )
        messages = projected_back(over_heads, self._left)
        return messages if over_dependents is None else messages + projected_back(over_dependents, self._right)


class UV(BucketedTernary, Factored):
    """Ternary scores ``T_f^(c) = U_f^(c) V_f^(c)'`` of rank r, for bucket f and channel c.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances.
        rank: The rank, r.
        symmetric: Whether V is U, so that all scores are symmetric.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> from strukt.kernels.buckets import Buckets
        >>> model = UV(labels=5, channels=2, buckets=Buckets(3), rank=4)
        >>> model.tables().shape, model.left.shape  # 8 distances, and scores shared by all
        (torch.Size([8, 2, 5, 5]), torch.Size([5, 9, 2, 4]))
        >>> torch.linalg.matrix_rank(UV(5, 2, Buckets(None), rank=4).tables()[0]).tolist()
        [4, 4]
    """

    def __init__(
        self, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool = False
    ) -> None:
        super().__init__(labels, channels, buckets)
        self._set_factors(symmetric, labels, buckets.places, channels, rank)

    def dependents(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self._left)

    def heads(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self._right)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return projected_back(rows, self._left)

    def of_heads(self, rows: Tensor) -> Tensor:
        return projected_back(rows, self._right)


class UVW(BucketedTernary, Factored):
    """Ternary scores ``T_f^(c) = U_f diag(W_f^(c)) V_f'``: channels c share factors of rank r, with weights.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances.
        rank: The rank, r.
        symmetric: Whether V is U, so that all scores are symmetric.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> from strukt.kernels.buckets import Buckets
        >>> model = UVW(labels=5, channels=2, buckets=Buckets(3), rank=4)
        >>> model.tables().shape, model.left.shape, model.weights.shape
        (torch.Size([8, 2, 5, 5]), torch.Size([5, 9, 1, 4]), torch.Size([9, 2, 4]))
    """

    weights: nn.Parameter

    def __init__(
        self, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool = False
    ) -> None:
        super().__init__(labels, channels, buckets)
        self._set_factors(symmetric, labels, buckets.places, 1, rank)
        self.weights = _factor(buckets.places, channels, rank)

    def dependents(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self._left) * precise(self.weights)

    def heads(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self._right).expand(-1, -1, -1, self.channels, -1)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return projected_back((rows * precise(self.weights)).sum(3, keepdim=True), self._left)

    def of_heads(self, rows: Tensor) -> Tensor:
        return projected_back(rows.sum(3, keepdim=True), self._right)


class WeightedUV(Factored):
    """Ternary scores ``T_f^(c) = U^(c) diag(w_f^(c)) V^(c)'``: buckets f share factors of rank r, with weights.

    Label probabilities are thus projected twice, not twice for each bucket.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances; ``shared`` has no effect, because all of them share the factors.
        rank: The rank, r.
        symmetric: Whether V is U, so that all scores are symmetric.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> from strukt.kernels.buckets import Buckets
        >>> model = WeightedUV(labels=5, channels=2, buckets=Buckets(3), rank=4)
        >>> model.tables().shape, model.left.shape, model.weights.shape
        (torch.Size([8, 2, 5, 5]), torch.Size([5, 1, 2, 4]), torch.Size([8, 2, 4]))
    """

    weights: nn.Parameter

    def __init__(
        self, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool = False
    ) -> None:
        buckets = Buckets(buckets.reach, shared=False)
        super().__init__(labels, channels, buckets)
        self._set_factors(symmetric, labels, 1, channels, rank)
        self.weights = nn.Parameter(1 + 0.1 * torch.randn(buckets.places, channels, rank))

    def rows(self, probabilities: Tensor) -> _WeightedRows:
        left, right = (projected(probabilities, factor).squeeze(2) for factor in (self._left, self._right))
        return _WeightedRows(weighted_buckets.weighted(left, precise(self.weights), self.buckets), right)

    def forward(self, rows: _WeightedRows) -> Tensor:
        return weighted_buckets.scores(*rows, precise(self.weights), self.buckets)

    def to_dependents(self, attention: Tensor, rows: _WeightedRows) -> Tensor:
        result = weighted_buckets.gathered(attention, rows.heads, precise(self.weights), self.buckets)
        return projected_back(result, self._left)

    def to_heads(self, attention: Tensor, rows: _WeightedRows) -> Tensor:
        result = weighted_buckets.scattered(attention, rows.dependents, precise(self.weights), self.buckets)
        return projected_back(result, self._right)


class _WeightedRows(NamedTuple):
    """Label probabilities Q times each factor, ``(batch, n, h, r)``; the rows of dependents are weighted."""

    dependents: weighted_buckets.Left
    heads: Tensor


def _factor(*shape: int) -> nn.Parameter:
    """Draw a normal factor with standard deviation 1/sqrt(r); the last axis has size r."""
    return nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5)
