"""Ternary scores of the label of a word, its head and the label of the head, in four decompositions."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from strukt.kernels import distance_attention, weighted_buckets
from strukt.kernels.distance_buckets import Buckets, gathered, scattered, scores


class Rows(NamedTuple):
    """Q times either factor, ``(batch, n, f, h, k)``."""

    dependents: Tensor
    heads: Tensor


class Ternary(nn.Module, abc.ABC):
    """The base class of ternary scores: T^(c)[a, b] of label a of a word and label b of its head in channel c.

    Each bucket of distances has separate scores; an additional place may hold scores shared by all (`Buckets`).
    Scores are products of two factors, ``T_f^(c) = left_f^(c) right_f^(c)'``, so that pairs need only the rows
    Q left and Q right of the probabilities Q of labels.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances.

    Source: Wu and Tu (2023), section 2.2 and appendix A.
    """

    def __init__(self, labels: int, channels: int, buckets: Buckets) -> None:
        super().__init__()
        self.labels, self.channels, self.buckets = labels, channels, buckets

    @abc.abstractmethod
    def factors(self) -> tuple[Tensor, Tensor]:
        """Return the left and the right factor, ``(f, h, d, k)`` each, or of shapes that expand to it."""

    @abc.abstractmethod
    def rows(self, probabilities: Tensor) -> Any:
        """Return the projections of Q, ``(batch, n, d)``, that scores and messages need."""

    @abc.abstractmethod
    def forward(self, rows: Any) -> Tensor:
        """Return the expected score of each word with each head, ``(batch, h, n, n)``."""

    @abc.abstractmethod
    def to_dependents(self, attention: Tensor, rows: Any) -> Tensor:
        """Return the messages of heads to the labels of their dependents, ``(batch, n, d)``.

        Args:
            attention: ``(batch, h, n, n)``, the probability of each head of each word.
            rows: The result of `rows` for the probabilities of labels.
        """

    @abc.abstractmethod
    def to_heads(self, attention: Tensor, rows: Any) -> Tensor:
        """Return the messages of dependents to the labels of their heads; arguments as for `to_dependents`."""

    @property
    def in_blocks(self) -> bool:
        """True if `messages` is available; it does not support scores shared by all distances."""
        return self.buckets.reach is None or not self.buckets.shared

    @abc.abstractmethod
    def messages(
        self, probabilities: Tensor, inside: Tensor, weight: float, causal: bool, tells_heads: bool
    ) -> Tensor:
        """Return the messages between words about their labels, ``(batch, n, d)``, without storing all pairs.

        Args:
            probabilities: ``(batch, n, d)``, the probabilities of labels, from which heads are computed.
            inside: ``(batch, n)``, True for words, False for padding.
            weight: lambda_H.
            causal: Whether heads are always to the left of their dependents.
            tells_heads: Whether dependents send messages to their heads.
        """

    def tables(self) -> Tensor:
        """Return the scores themselves, ``(f, h, d, d)``: a table for each bucket, including shared scores."""
        left, right = self.factors()
        tables = left @ right.mT
        if self.buckets.reach is None or not self.buckets.shared:
            return tables
        return tables[:-1] + tables[-1]

    def penalty(self) -> Tensor:
        """Return the sum of the squares of `tables`, without computing the tables."""
        left, right = self.factors()
        if self.buckets.reach is not None and self.buckets.shared:
            left, right = (
                torch.cat([part[:-1], part[-1:].expand_as(part[:-1])], -1) for part in (left, right)
            )
        return ((left.mT @ left) * (right.mT @ right)).sum()

    def norm(self) -> Tensor:
        """Return the Euclidean norm of `tables`, only from products of factors (Gram matrices, r x r)."""
        return self.penalty().clamp(min=torch.finfo(torch.float32).tiny).sqrt()


class BucketedTernary(Ternary):
    """Ternary scores with separate rows for each bucket."""

    @abc.abstractmethod
    def dependents(self, probabilities: Tensor) -> Tensor:
        """Return Q left, rows of words as dependents: from ``(batch, n, d)`` to ``(batch, n, f, h, k)``."""

    @abc.abstractmethod
    def heads(self, probabilities: Tensor) -> Tensor:
        """Return Q right, rows of words as heads: from ``(batch, n, d)`` to ``(batch, n, f, h, k)``."""

    @abc.abstractmethod
    def of_dependents(self, rows: Tensor) -> Tensor:
        """Apply the transpose of `dependents`: from ``(batch, n, f, h, k)`` to ``(batch, n, d)``."""

    @abc.abstractmethod
    def of_heads(self, rows: Tensor) -> Tensor:
        """Apply the transpose of `heads`: from ``(batch, n, f, h, k)`` to ``(batch, n, d)``."""

    def rows(self, probabilities: Tensor) -> Rows:
        return Rows(self.dependents(probabilities), self.heads(probabilities))

    def forward(self, rows: Rows) -> Tensor:
        return scores(rows.dependents, rows.heads, self.buckets)

    def to_dependents(self, attention: Tensor, rows: Rows) -> Tensor:
        return self.of_dependents(gathered(attention, rows.heads, self.buckets))

    def to_heads(self, attention: Tensor, rows: Rows) -> Tensor:
        return self.of_heads(scattered(attention, rows.dependents, self.buckets))


class FullTernary(BucketedTernary):
    """Full ternary scores: a table for each channel and bucket.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances.
        symmetric: Whether all tables are symmetric; the mean of a table and its transpose is then used.

    Examples:
        >>> FullTernary(5, 2, Buckets(3)).tables().shape
        torch.Size([8, 2, 5, 5])
    """

    def __init__(self, labels: int, channels: int, buckets: Buckets, symmetric: bool = False) -> None:
        super().__init__(labels, channels, buckets)
        self.symmetric = symmetric
        self.table = nn.Parameter(torch.randn(labels, buckets.places, channels, labels))

    def factors(self) -> tuple[Tensor, Tensor]:
        eye = torch.eye(self.labels, dtype=self.table.dtype, device=self.table.device)
        table = as_tables(self._table())
        return table, eye.expand_as(table)

    def dependents(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self._table())

    def heads(self, probabilities: Tensor) -> Tensor:
        return probabilities[:, :, None, None].expand(-1, -1, self.buckets.places, self.channels, -1)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return projected_back(rows, self._table())

    def of_heads(self, rows: Tensor) -> Tensor:
        return rows.sum((2, 3))

    def messages(
        self, probabilities: Tensor, inside: Tensor, weight: float, causal: bool, tells_heads: bool
    ) -> Tensor:
        table = self._table()
        over_heads, over_dependents = distance_attention.messages(
            projected(probabilities, table),
            probabilities[:, :, None, None],
            None,
            inside,
            self.buckets,
            scale=1 / weight,
            causal=causal,
            transposed=tells_heads,
        )
        told = projected_back(over_heads, table)
        return told if over_dependents is None else told + over_dependents[:, :, 0, 0]

    def _table(self) -> Tensor:
        return 0.5 * (self.table + self.table.transpose(0, 3)) if self.symmetric else self.table


class Factored(Ternary):
    """Ternary scores from two factors ``(d, f, h, r)``; if scores are symmetric, both factors are the same.

    The axis f or h has size 1 if distances or channels share factors; weights then distinguish them.
    """

    weights: nn.Parameter | None

    def _set_factors(self, symmetric: bool, *shape: int) -> None:
        self.left = _factor(*shape)
        # A parameter with two names could not be saved.
        self.right = None if symmetric else _factor(*shape)
        self.weights = None

    @property
    def _right(self) -> Tensor:
        return self.left if self.right is None else self.right

    def messages(
        self, probabilities: Tensor, inside: Tensor, weight: float, causal: bool, tells_heads: bool
    ) -> Tensor:
        over_heads, over_dependents = distance_attention.messages(
            projected(probabilities, self.left),
            projected(probabilities, self._right),
            self.weights,
            inside,
            self.buckets,
            scale=1 / weight,
            causal=causal,
            transposed=tells_heads,
        )
        told = projected_back(over_heads, self.left)
        return told if over_dependents is None else told + projected_back(over_dependents, self._right)


class UV(BucketedTernary, Factored):
    """Ternary scores ``T_f^(c) = U_f^(c) V_f^(c)'`` of rank r.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances.
        rank: The rank, r.
        symmetric: Whether V is U, so that all scores are symmetric.
    """

    def __init__(
        self, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool = False
    ) -> None:
        super().__init__(labels, channels, buckets)
        self._set_factors(symmetric, labels, buckets.places, channels, rank)

    def factors(self) -> tuple[Tensor, Tensor]:
        return as_tables(self.left), as_tables(self._right)

    def dependents(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self.left)

    def heads(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self._right)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return projected_back(rows, self.left)

    def of_heads(self, rows: Tensor) -> Tensor:
        return projected_back(rows, self._right)


class UVW(BucketedTernary, Factored):
    """Ternary scores ``T_f^(c) = U_f diag(W_f^(c)) V_f'``: channels share factors of rank r, with weights.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances.
        rank: The rank, r.
        symmetric: Whether V is U, so that all scores are symmetric.
    """

    weights: nn.Parameter

    def __init__(
        self, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool = False
    ) -> None:
        super().__init__(labels, channels, buckets)
        self._set_factors(symmetric, labels, buckets.places, 1, rank)
        self.weights = _factor(buckets.places, channels, rank)

    def factors(self) -> tuple[Tensor, Tensor]:
        right = as_tables(self._right).expand(-1, self.channels, -1, -1)
        return as_tables(self.left) * self.weights.unsqueeze(2), right

    def dependents(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self.left) * self.weights

    def heads(self, probabilities: Tensor) -> Tensor:
        return projected(probabilities, self._right).expand(-1, -1, -1, self.channels, -1)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return projected_back((rows * self.weights).sum(3, keepdim=True), self.left)

    def of_heads(self, rows: Tensor) -> Tensor:
        return projected_back(rows.sum(3, keepdim=True), self._right)


class WeightedUV(Factored):
    """Ternary scores ``T_f^(c) = U^(c) diag(w_f^(c)) V^(c)'``: buckets share factors of rank r, with weights.

    This takes two projections instead of two for each bucket.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances; scores shared by all are part of the factors.
        rank: The rank, r.
        symmetric: Whether V is U, so that all scores are symmetric.
    """

    weights: nn.Parameter

    def __init__(
        self, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool = False
    ) -> None:
        buckets = Buckets(buckets.reach, shared=False)
        super().__init__(labels, channels, buckets)
        self._set_factors(symmetric, labels, 1, channels, rank)
        self.weights = nn.Parameter(1 + 0.1 * torch.randn(buckets.places, channels, rank))

    def factors(self) -> tuple[Tensor, Tensor]:
        right = as_tables(self._right).expand(self.buckets.places, -1, -1, -1)
        return as_tables(self.left) * self.weights.unsqueeze(2), right

    def rows(self, probabilities: Tensor) -> _WeighedRows:
        left, right = (projected(probabilities, factor).squeeze(2) for factor in (self.left, self._right))
        return _WeighedRows(weighted_buckets.weighed(left, self.weights, self.buckets), right)

    def forward(self, rows: _WeighedRows) -> Tensor:
        return weighted_buckets.scores(*rows, self.weights, self.buckets)

    def to_dependents(self, attention: Tensor, rows: _WeighedRows) -> Tensor:
        result = weighted_buckets.gathered(attention, rows.heads, self.weights, self.buckets)
        return projected_back(result, self.left)

    def to_heads(self, attention: Tensor, rows: _WeighedRows) -> Tensor:
        result = weighted_buckets.scattered(attention, rows.dependents, self.weights, self.buckets)
        return projected_back(result, self._right)


class _WeighedRows(NamedTuple):
    """Q times either factor, ``(batch, n, h, r)``; dependents are weighted."""

    dependents: weighted_buckets.Left
    heads: Tensor


def _factor(*shape: int) -> nn.Parameter:
    """Draw a normal factor with standard deviation 1/sqrt(r); the last axis has size r."""
    return nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5)


def as_tables(factor: Tensor) -> Tensor:
    """Permute a parameter ``(d, f, h, k)`` to ``(f, h, d, k)``; the memory layout of the former suits products."""
    return factor.permute(1, 2, 0, 3)


def projected(rows: Tensor, factor: Tensor) -> Tensor:
    """Multiply ``(batch, n, d)`` by ``(d, f, h, k)``, in one product for all places and channels."""
    return (rows @ factor.flatten(1)).view(*rows.shape[:2], *factor.shape[1:])


def projected_back(rows: Tensor, factor: Tensor) -> Tensor:
    """Apply the transpose of `projected`, which sums over places and channels."""
    return rows.flatten(2) @ factor.flatten(1).mT
