"""Scores of a word's label, its head and the head's label, by channel and distance, in four decompositions."""

from __future__ import annotations

import abc

import torch
from torch import Tensor, nn

from strukt.kernels.distance_buckets import Buckets, gathered, scattered, scores


class Ternary(nn.Module, abc.ABC):
    """The scores T^(c) of label a of a word and label b of its head in channel c, for each distance between them.

    Each bucket of distances has scores of its own, added to those that all share (`Buckets`). All are products of
    two factors, ``T_f^(c) = left_f^(c) right_f^(c)'``, so that with probabilities Q of labels the pairs need only
    the rows Q left and Q right.

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
    def dependents(self, probabilities: Tensor) -> Tensor:
        """Rows of words as dependents: from ``(batch, n, d)`` to ``(f, batch, h, n, k)``, Q left."""

    @abc.abstractmethod
    def heads(self, probabilities: Tensor) -> Tensor:
        """Rows of words as heads: from ``(batch, n, d)`` to ``(f, batch, h, n, k)``, Q right."""

    @abc.abstractmethod
    def of_dependents(self, rows: Tensor) -> Tensor:
        """The transpose of `dependents`: from ``(f, batch, h, n, k)`` to ``(batch, n, d)``."""

    @abc.abstractmethod
    def of_heads(self, rows: Tensor) -> Tensor:
        """The transpose of `heads`."""

    def forward(self, probabilities: Tensor) -> Tensor:
        """The expected score of each word with each head, ``(batch, h, n, n)``, from Q ``(batch, n, d)``."""
        return scores(self.dependents(probabilities), self.heads(probabilities), self.buckets)

    def to_dependents(self, attention: Tensor, probabilities: Tensor) -> Tensor:
        """What heads tell their dependents of the labels of these: ``(batch, n, d)``.

        Args:
            attention: ``(batch, h, n, n)``, the probability of each head of each word.
            probabilities: Q, ``(batch, n, d)``.
        """
        return self.of_dependents(gathered(attention, self.heads(probabilities), self.buckets))

    def to_heads(self, attention: Tensor, probabilities: Tensor) -> Tensor:
        """What dependents tell their heads; as `to_dependents`."""
        return self.of_heads(scattered(attention, self.dependents(probabilities), self.buckets))

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


class FullTernary(Ternary):
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
        self.table = nn.Parameter(torch.randn(buckets.places, channels, labels, labels))

    def factors(self) -> tuple[Tensor, Tensor]:
        eye = torch.eye(self.labels, dtype=self.table.dtype, device=self.table.device)
        return self._table(), eye.expand_as(self.table)

    def dependents(self, probabilities: Tensor) -> Tensor:
        return _projected(probabilities, self._table())

    def heads(self, probabilities: Tensor) -> Tensor:
        return probabilities.unsqueeze(1).expand(self.buckets.places, -1, self.channels, -1, -1)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return _projected_back(rows, self._table())

    def of_heads(self, rows: Tensor) -> Tensor:
        return rows.sum((0, 2))

    def _table(self) -> Tensor:
        return 0.5 * (self.table + self.table.mT) if self.symmetric else self.table


class UV(Ternary):
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
        self.left = _factor(buckets.places, channels, labels, rank=rank)
        self.right = self.left if symmetric else _factor(buckets.places, channels, labels, rank=rank)

    def factors(self) -> tuple[Tensor, Tensor]:
        return self.left, self.right

    def dependents(self, probabilities: Tensor) -> Tensor:
        return _projected(probabilities, self.left)

    def heads(self, probabilities: Tensor) -> Tensor:
        return _projected(probabilities, self.right)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return _projected_back(rows, self.left)

    def of_heads(self, rows: Tensor) -> Tensor:
        return _projected_back(rows, self.right)


class UVW(Ternary):
    """``T_f^(c) = U_f diag(W_f^(c)) V_f'``: channels share the factors of rank r, and weigh them.

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
        self.left = _factor(buckets.places, 1, labels, rank=rank)
        self.right = self.left if symmetric else _factor(buckets.places, 1, labels, rank=rank)
        self.weights = _factor(buckets.places, channels, 1, rank=rank)

    def factors(self) -> tuple[Tensor, Tensor]:
        return self.left * self.weights, self.right.expand(-1, self.channels, -1, -1)

    def dependents(self, probabilities: Tensor) -> Tensor:
        return _projected(probabilities, self.left) * self.weights.unsqueeze(1)

    def heads(self, probabilities: Tensor) -> Tensor:
        return _projected(probabilities, self.right).expand(-1, -1, self.channels, -1, -1)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return _projected_back((rows * self.weights.unsqueeze(1)).sum(2, keepdim=True), self.left)

    def of_heads(self, rows: Tensor) -> Tensor:
        return _projected_back(rows.sum(2, keepdim=True), self.right)


class WeightedUV(Ternary):
    """``T_f^(c) = U^(c) diag(w_f^(c)) V^(c)'``: buckets share the factors of rank r, and weigh them.

    Two projections in place of two for each bucket.

    Args:
        labels: d.
        channels: h.
        buckets: Of distances; what all share is in the factors.
        rank: r.
        symmetric: Whether V is U, so that all scores are symmetric.
    """

    def __init__(
        self, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool = False
    ) -> None:
        buckets = Buckets(buckets.reach, shared=False)
        super().__init__(labels, channels, buckets)
        self.left = _factor(1, channels, labels, rank=rank)
        self.right = self.left if symmetric else _factor(1, channels, labels, rank=rank)
        self.weights = nn.Parameter(1 + 0.1 * torch.randn(buckets.places, channels, 1, rank))

    def factors(self) -> tuple[Tensor, Tensor]:
        return self.left * self.weights, self.right.expand(self.buckets.places, -1, -1, -1)

    def dependents(self, probabilities: Tensor) -> Tensor:
        return _projected(probabilities, self.left) * self.weights.unsqueeze(1)

    def heads(self, probabilities: Tensor) -> Tensor:
        return _projected(probabilities, self.right).expand(self.buckets.places, -1, -1, -1, -1)

    def of_dependents(self, rows: Tensor) -> Tensor:
        return _projected_back((rows * self.weights.unsqueeze(1)).sum(0, keepdim=True), self.left)

    def of_heads(self, rows: Tensor) -> Tensor:
        return _projected_back(rows.sum(0, keepdim=True), self.right)


def _factor(*shape: int, rank: int) -> nn.Parameter:
    """Normal numbers of standard deviation 1/sqrt(r)."""
    return nn.Parameter(torch.randn(*shape, rank) * rank**-0.5)


def _projected(rows: Tensor, factor: Tensor) -> Tensor:
    """``(batch, n, d)`` times ``(f, h, d, k)``, as ``(f, batch, h, n, k)``: one product for all of them."""
    places, channels, labels, rank = factor.shape
    flat = rows @ factor.permute(2, 0, 1, 3).reshape(labels, -1)
    return flat.view(*rows.shape[:2], places, channels, rank).permute(2, 0, 3, 1, 4)


def _projected_back(rows: Tensor, factor: Tensor) -> Tensor:
    """The transpose of `_projected`, which adds up over places and channels."""
    flat = rows.permute(1, 3, 0, 2, 4).flatten(2)
    return flat @ factor.permute(0, 1, 3, 2).flatten(0, 2)
