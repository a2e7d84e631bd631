"""The base classes of ternary scores, and products of label probabilities with the factors of scores."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from strukt.kernels.buckets import Buckets
from strukt.kernels.distance_buckets import gathered, scattered, scores
from strukt.nn.inputs import require_sizes


class Rows(NamedTuple):
    """The products of label probabilities Q with the left factor (for dependents) and the right one (for heads).

    Both are ``(batch, n, f, h, k)``, for n words, f buckets of distances, h channels and rank k; see `Ternary`.
    They are ``(batch, n, h, k)`` for the decomposition ``biased``, whose factors do not depend on the distance.
    The method `rows` of ternary scores returns them.

    Examples:
        >>> from strukt.kernels.buckets import Buckets
        >>> from strukt.nn.ternary import UV
        >>> rows = UV(5, 2, Buckets(3), rank=4).rows(torch.full((1, 6, 5), 0.2))
        >>> rows.dependents.shape, rows.heads.shape
        (torch.Size([1, 6, 9, 2, 4]), torch.Size([1, 6, 9, 2, 4]))
    """

    dependents: Tensor
    heads: Tensor


class Ternary(nn.Module, abc.ABC):
    """The base class of ternary scores: T^(c)[a, b] of label a of a word and label b of its head in channel c.

    Distances between words are divided into buckets. Each bucket f has separate scores; an additional bucket may
    hold scores shared by all.

    Scores are products of two factors, ``T_f^(c) = left_f^(c) right_f^(c)'``. Scores of pairs of words are thus
    products of the rows of Q left and Q right, where Q holds the probabilities of the labels of each word.

    Subclasses implement `factors`, `rows`, `forward`, `to_dependents`, `to_heads` and `messages`.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances, such as ``Buckets(3)`` of `strukt.kernels.buckets`: separate scores for
            heads up to 3 words away on either side, and for all more distant heads on either side, and scores that
            all distances share; ``Buckets(3, shared=False)`` without these. ``Buckets(None)`` has a single bucket.

    Raises:
        ValueError: If a size is less than 1.

    Source: Wu and Tu (2023), section 2.2 and appendix A.

    Examples:
        >>> from strukt.kernels.buckets import Buckets
        >>> from strukt.nn.ternary import FullTernary
        >>> scores = FullTernary(labels=2, channels=1, buckets=Buckets(None))
        >>> scores.table.data[:, 0, 0] = torch.tensor([[0.0, 3.0], [0.0, 0.0]])  # T[0, 1] = 3
        >>> probabilities = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])  # of two words
        >>> scores(scores.rows(probabilities))[0, 0].detach()
        tensor([[0., 3.],
                [0., 0.]])
    """

    def __init__(self, labels: int, channels: int, buckets: Buckets) -> None:
        super().__init__()
        require_sizes(labels=labels, channels=channels)
        self.labels, self.channels, self.buckets = labels, channels, buckets

    @abc.abstractmethod
    def factors(self) -> tuple[Tensor, Tensor]:
        """Return the left and the right factor, ``(f, h, d, k)`` each, or of shapes that expand to it.

        There are f buckets, h channels and d labels; k is the rank of the product.
        """

    @abc.abstractmethod
    def rows(self, probabilities: Tensor) -> Any:
        """Return the products of Q with the factors, which scores and messages need.

        Args:
            probabilities: ``(batch, n, d)``, Q, the probabilities of the labels of each word.
        """

    @abc.abstractmethod
    def forward(self, rows: Any) -> Tensor:
        """Return the expected score of each word with each head, ``(batch, h, n, n)``, from `rows`."""

    @abc.abstractmethod
    def to_dependents(self, attention: Tensor, rows: Any) -> Tensor:
        """Return the messages of heads to the labels of their dependents, ``(batch, n, d)``.

        Args:
            attention: ``(batch, h, n, n)``, the probability of each head of each word.
            rows: The result of `rows` for the probabilities of labels.
        """

    @abc.abstractmethod
    def to_heads(self, attention: Tensor, rows: Any) -> Tensor:
        """Return the messages of dependents to the labels of their heads, ``(batch, n, d)``.

        Args:
            attention: ``(batch, h, n, n)``, the probability of each head of each word.
            rows: The result of `rows` for the probabilities of labels.
        """

    @property
    def in_blocks(self) -> bool:
        """True if `messages` is available, which does not support scores shared by all distances."""
        return self.buckets.reach is None or not self.buckets.shared

    @abc.abstractmethod
    def messages(
        self, probabilities: Tensor, inside: Tensor, weight: float, causal: bool, tells_heads: bool
    ) -> Tensor:
        """Return the messages between words about their labels, ``(batch, n, d)``, without storing all pairs.

        They are the sum of `to_dependents` and, with ``tells_heads``, `to_heads`, for a softmax over heads. Scores
        shared by all distances are not supported; see `in_blocks`.

        Args:
            probabilities: ``(batch, n, d)``, the probabilities of labels, which determine those of heads.
            inside: ``(batch, n)``, True for words, False for padding.
            weight: lambda_H, the weight of the entropy of heads.
            causal: Whether heads are always to the left of their dependents.
            tells_heads: Whether dependents send messages to their heads.
        """

    def tables(self) -> Tensor:
        """Return the tables T, ``(f, h, d, d)``, one for each bucket and channel.

        With shared scores they are ``(f - 1, h, d, d)``: the table of the last bucket is added to all others.
        """
        left, right = self.factors()
        tables = left @ right.mT
        if self.buckets.reach is None or not self.buckets.shared:
            return tables
        return tables[:-1] + tables[-1]

    def penalty(self) -> Tensor:
        """Return the sum of the squares of `tables`, a scalar, without computing the tables."""
        left, right = self.factors()
        if self.buckets.reach is not None and self.buckets.shared:
            left, right = (
                torch.cat([part[:-1], part[-1:].expand_as(part[:-1])], -1) for part in (left, right)
            )
        return ((left.mT @ left) * (right.mT @ right)).sum()

    def norm(self) -> Tensor:
        """Return the Euclidean norm of `tables`, a scalar, computed from Gram matrices of the factors, k x k."""
        return self.penalty().clamp(min=torch.finfo(torch.float32).tiny).sqrt()


class BucketedTernary(Ternary):
    """Ternary scores whose rows, Q left and Q right, are separate for each bucket: ``(batch, n, f, h, k)``.

    Subclasses, such as `UV`, implement `factors`, `dependents`, `heads`, `of_dependents`, `of_heads` and
    `messages`. Arguments are those of `Ternary`.
    """

    @abc.abstractmethod
    def dependents(self, probabilities: Tensor) -> Tensor:
        """Return Q left, for words as dependents: ``(batch, n, f, h, k)`` from Q, ``(batch, n, d)``.

        Args:
            probabilities: Q, the probabilities of the labels of each word.
        """

    @abc.abstractmethod
    def heads(self, probabilities: Tensor) -> Tensor:
        """Return Q right, for words as heads: ``(batch, n, f, h, k)`` from Q, ``(batch, n, d)``.

        Args:
            probabilities: Q, the probabilities of the labels of each word.
        """

    @abc.abstractmethod
    def of_dependents(self, rows: Tensor) -> Tensor:
        """Apply the transpose of `dependents`: from rows ``(batch, n, f, h, k)`` to ``(batch, n, d)``."""

    @abc.abstractmethod
    def of_heads(self, rows: Tensor) -> Tensor:
        """Apply the transpose of `heads`: from rows ``(batch, n, f, h, k)`` to ``(batch, n, d)``."""

    def rows(self, probabilities: Tensor) -> Rows:
        return Rows(self.dependents(probabilities), self.heads(probabilities))

    def forward(self, rows: Rows) -> Tensor:
        return scores(rows.dependents, rows.heads, self.buckets)

    def to_dependents(self, attention: Tensor, rows: Rows) -> Tensor:
        return self.of_dependents(gathered(attention, rows.heads, self.buckets))

    def to_heads(self, attention: Tensor, rows: Rows) -> Tensor:
        return self.of_heads(scattered(attention, rows.dependents, self.buckets))


def as_tables(factor: Tensor) -> Tensor:
    """Return a view ``(f, h, d, k)`` of a factor ``(d, f, h, k)``, a layout that suits matrix products.

    Args:
        factor: The factor, for d labels, f buckets of distances, h channels and k ranks.

    Examples:
        >>> as_tables(torch.zeros(5, 9, 2, 4)).shape
        torch.Size([9, 2, 5, 4])
    """
    return factor.permute(1, 2, 0, 3)


def projected(rows: Tensor, factor: Tensor) -> Tensor:
    """Multiply label probabilities by a factor, in one matrix product for all buckets and channels.

    Args:
        rows: ``(batch, n, d)``, the probabilities of d labels of n words.
        factor: ``(d, f, h, k)``, for f buckets, h channels and rank k.

    Returns:
        ``(batch, n, f, h, k)``.

    Complexity: O(batch n d f h k).

    Examples:
        >>> factor = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).reshape(2, 1, 1, 2)
        >>> projected(torch.tensor([[[0.0, 1.0], [0.5, 0.5]]]), factor).flatten(2)
        tensor([[[3., 4.],
                 [2., 3.]]])
    """
    return (rows @ factor.flatten(1)).view(*rows.shape[:2], *factor.shape[1:])


def projected_back(rows: Tensor, factor: Tensor) -> Tensor:
    """Apply the transpose of `projected`, a sum over buckets, channels and ranks.

    Args:
        rows: ``(batch, n, f, h, k)``, or with fewer axes of the same total size.
        factor: ``(d, f, h, k)``.

    Returns:
        ``(batch, n, d)``.

    Complexity: O(batch n d f h k).

    Examples:
        >>> factor = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).reshape(2, 1, 1, 2)
        >>> projected_back(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), factor)
        tensor([[[1., 3.],
                 [2., 4.]]])
    """
    return rows.flatten(2) @ factor.flatten(1).mT
