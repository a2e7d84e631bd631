"""Scores of a word's label, its head and the head's label, by channel and distance, in four decompositions."""

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
    """The scores T^(c) of label a of a word and label b of its head in channel c, for each distance between them.

    Each bucket of distances has scores of its own, to which one more place may add some for all (`Buckets`). They
    are products of two factors, ``T_f^(c) = left_f^(c) right_f^(c)'``, so that with probabilities Q of labels the
    pairs need only the rows Q left and Q right.

    Args:
        labels: d.
        channels: h.
        buckets: Of distances.

    Source: Wu and Tu (2023), section 2.2 and appendix A.
    """

    def __init__(self, labels: int, channels: int, buckets: Buckets) -> None:
        super().__init__()
        self.labels, self.channels, self.buckets = labels, channels, buckets

    @abc.abstractmethod
    def factors(self) -> tuple[Tensor, Tensor]:
        """The left and the right factor, ``(f, h, d, k)`` each, or as expands to it."""

    @abc.abstractmethod
    def rows(self, probabilities: Tensor) -> Any:
        """What scores and messages need of Q, ``(batch, n, d)``."""

    @abc.abstractmethod
    def forward(self, rows: Any) -> Tensor:
        """The expected score of each word with each head, ``(batch, h, n, n)``."""

    @abc.abstractmethod
    def to_dependents(self, attention: Tensor, rows: Any) -> Tensor:
        """What heads tell their dependents of the labels of these, ``(batch, n, d)``.

        Args:
            attention: ``(batch, h, n, n)``, the probability of each head of each word.
            rows: Of the probabilities of labels.
        """

    @abc.abstractmethod
    def to_heads(self, attention: Tensor, rows: Any) -> Tensor:
        """What dependents tell their heads; as `to_dependents`."""

    @property
    def in_blocks(self) -> bool:
        """True if there are `messages`, which have no place for scores that all distances share."""
        return self.buckets.reach is None or not self.buckets.shared

    @abc.abstractmethod
    def messages(
        self, probabilities: Tensor, inside: Tensor, weight: float, causal: bool, tells_heads: bool
    ) -> Tensor:
        """Compute what words tell each other of their labels, without holding all pairs, ``(batch, n, d)``.

        Args:
            probabilities: Of labels, ``(batch, n, d)``, of which heads are made.
            inside: ``(batch, n)``, whether there is a word.
            weight: lambda_H.
            causal: Whether heads stand to the left.
            tells_heads: Whether dependents tell their heads.
        """

    def tables(self) -> Tensor:
        """The scores themselves, ``(f, h, d, d)``, one table for each bucket, with what all share."""
        left, right = self.factors()
        own = left @ right.mT
        if self.buckets.reach is None or not self.buckets.shared:
            return own
        return own[:-1] + own[-1]

    def penalty(self) -> Tensor:
        """The sum of the squares of `tables`, without making them."""
        left, right = self.factors()
        if self.buckets.reach is not None and self.buckets.shared:
            left, right = (
                torch.cat([part[:-1], part[-1:].expand_as(part[:-1])], -1) for part in (left, right)
            )
        return ((left.mT @ left) * (right.mT @ right)).sum()

    def norm(self) -> Tensor:
        """The Euclidean norm of `tables`, from products of factors alone (Gram matrices, r x r)."""
        return self.penalty().clamp(min=torch.finfo(torch.float32).tiny).sqrt()


class BucketedTernary(Ternary):
    """Scores with rows of their own for each bucket."""

    @abc.abstractmethod
    def dependents(self, probabilities: Tensor) -> Tensor:
        """Rows of words as dependents: from ``(batch, n, d)`` to ``(batch, n, f, h, k)``, Q left."""

    @abc.abstractmethod
    def heads(self, probabilities: Tensor) -> Tensor:
        """Rows of words as heads: from ``(batch, n, d)`` to ``(batch, n, f, h, k)``, Q right."""

    @abc.abstractmethod
    def of_dependents(self, rows: Tensor) -> Tensor:
        """The transpose of `dependents`: from ``(batch, n, f, h, k)`` to ``(batch, n, d)``."""

    @abc.abstractmethod
    def of_heads(self, rows: Tensor) -> Tensor:
        """The transpose of `heads`."""

    def rows(self, probabilities: Tensor) -> Rows:
        return Rows(self.dependents(probabilities), self.heads(probabilities))

    def forward(self, rows: Rows) -> Tensor:
        return scores(rows.dependents, rows.heads, self.buckets)

    def to_dependents(self, attention: Tensor, rows: Rows) -> Tensor:
        return self.of_dependents(gathered(attention, rows.heads, self.buckets))

    def to_heads(self, attention: Tensor, rows: Rows) -> Tensor:
        return self.of_heads(scattered(attention, rows.dependents, self.buckets))


class FullTernary(BucketedTernary):
    """A table for each channel and bucket.

    Args:
        labels: d.
        channels: h.
        buckets: Of distances.
        symmetric: Whether all tables are symmetric: what counts is their mean with their transpose.

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
    """Scores from two factors ``(d, f, h, r)``, of which the right one is the left one if scores are symmetric.

    There is 1 in the place of f or h where distances or channels share factors; weights then tell them apart.
    """

    weights: nn.Parameter | None

    def _set_factors(self, symmetric: bool, *shape: int) -> None:
        self.left = _factor(*shape)
        # One parameter has one name, or it could not be saved.
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
    """``T_f^(c) = U_f^(c) V_f^(c)'`` of rank r.

    Args:
        labels: d.
        channels: h.
        buckets: Of distances.
        rank: r.
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
    """``T_f^(c) = U_f diag(W_f^(c)) V_f'``: channels share the factors of rank r, and weigh them.

    Args:
        labels: d.
        channels: h.
        buckets: Of distances.
        rank: r.
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
    """``T_f^(c) = U^(c) diag(w_f^(c)) V^(c)'``: buckets share the factors of rank r, and weigh them.

    Two projections in place of two for each bucket.

    Args:
        labels: d.
        channels: h.
        buckets: Of distances; what all share is in the factors.
        rank: r.
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
        found = weighted_buckets.gathered(attention, rows.heads, self.weights, self.buckets)
        return projected_back(found, self.left)

    def to_heads(self, attention: Tensor, rows: _WeighedRows) -> Tensor:
        found = weighted_buckets.scattered(attention, rows.dependents, self.weights, self.buckets)
        return projected_back(found, self._right)


class _WeighedRows(NamedTuple):
    """Q times either factor, ``(batch, n, h, r)``, the one weighed."""

    dependents: weighted_buckets.Left
    heads: Tensor


def _factor(*shape: int) -> nn.Parameter:
    """Normal numbers of standard deviation 1/sqrt(r), for the last axis of size r."""
    return nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5)


def as_tables(factor: Tensor) -> Tensor:
    """``(f, h, d, k)`` of a parameter ``(d, f, h, k)``, which is in memory as products are fastest."""
    return factor.permute(1, 2, 0, 3)


def projected(rows: Tensor, factor: Tensor) -> Tensor:
    """``(batch, n, d)`` times ``(d, f, h, k)``: one product for all places and channels."""
    return (rows @ factor.flatten(1)).view(*rows.shape[:2], *factor.shape[1:])


def projected_back(rows: Tensor, factor: Tensor) -> Tensor:
    """The transpose of `projected`, which adds up over places and channels."""
    return rows.flatten(2) @ factor.flatten(1).mT
