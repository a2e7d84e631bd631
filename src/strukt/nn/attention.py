"""Attention of queries over the positions of a sequence: a base class, dot-product and additive attention."""

from __future__ import annotations

import abc
from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import lengths_of, require_same_batch, require_sizes, require_vectors


class Attended(NamedTuple):
    """The result of attention of t queries over n keys of size ``keys``.

    Attributes:
        context: ``(batch, t, keys)``, the weighted sum of the keys; in training, `VariationalAttention` samples it
            from a Gaussian around this sum.
        weights: ``(batch, t, n)``; 0 in the padding.
        divergence: ``(batch, t)``, the Kullback-Leibler (KL) divergence of the distribution of each context from
            its prior, in nats; None except for `VariationalAttention`.
    """

    context: Tensor
    weights: Tensor
    divergence: Tensor | None = None


class Attention(nn.Module, abc.ABC):
    """The base class of attention: each query distributes weight over the positions of a sequence.

    Subclasses implement `weights`, which `forward` calls with zeros in the padding of the keys.

    Args:
        queries: Size of the queries.
        keys: Size of the keys.
        size: Size of the hidden layer, or of the projections.

    Attributes:
        sizes: The pair ``(queries, keys)`` of sizes.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> class Uniform(Attention):
        ...     def weights(self, queries, keys, inside):
        ...         inside = inside.expand(-1, queries.shape[1], -1)
        ...         return inside / inside.sum(-1, keepdim=True).clamp(min=1)
        >>> Uniform(4, 6, 8)(torch.randn(2, 3, 4), torch.randn(2, 5, 6)).context.shape
        torch.Size([2, 3, 6])
    """

    def __init__(self, queries: int, keys: int, size: int) -> None:
        super().__init__()
        require_sizes(queries=queries, keys=keys, size=size)
        self.sizes = (queries, keys)

    @abc.abstractmethod
    def weights(self, queries: Tensor, keys: Tensor, inside: Tensor) -> Tensor:
        """Return the weights of each query over the keys that it may attend to.

        Args:
            queries: ``(batch, t, queries)``, t queries.
            keys: ``(batch, n, keys)``, n keys.
            inside: True for the keys that a query may attend to; broadcasts to ``(batch, t, n)``.

        Returns:
            ``(batch, t, n)``; 0 for all other keys, and for a query that may attend to none.
        """

    def forward(self, queries: Tensor, keys: Tensor, lengths: Lengths | None = None) -> Attended:
        """Attend from each query to the keys.

        Args:
            queries: ``(batch, t, queries)``.
            keys: ``(batch, n, keys)``; padding is ignored.
            lengths: ``(batch,)``, lengths of the keys; all n if None.

        Returns:
            The context ``(batch, t, keys)`` and the weights ``(batch, t, n)``; see `Attended`.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        keys, _, inside = self.within(queries, keys, lengths)
        weights = self.weights(queries, keys, inside)
        return Attended(weights @ keys, weights)

    def within(self, queries: Tensor, keys: Tensor, lengths: Lengths | None) -> tuple[Tensor, Tensor, Tensor]:
        """Check ``queries``, ``keys`` and ``lengths``, the arguments of `forward`, and prepare keys and lengths.

        Returns:
            The keys with zeros in the padding, the lengths ``(batch,)``, and their mask ``(batch, 1, n)``, True
            within the lengths.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        for_queries, for_keys = self.sizes
        require_vectors("queries", queries, for_queries)
        lengths = lengths_of("keys", keys, for_keys, lengths)
        require_same_batch(queries=queries, keys=keys)
        inside = mask_of(lengths, keys.shape[1])
        return keys.masked_fill(~inside.unsqueeze(-1), 0.0), lengths, inside.unsqueeze(1)


class DotProductAttention(Attention):
    """Scaled dot-product attention: a softmax over products of projections.

    Source: Luong et al. (2015); Vaswani et al. (2017).

    Args:
        queries: Size of the queries.
        keys: Size of the keys.
        size: Size of the projections.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> attend = DotProductAttention(4, 6, 8)
        >>> attended = attend(torch.randn(2, 3, 4), torch.randn(2, 5, 6), torch.tensor([5, 2]))
        >>> attended.context.shape, bool((attended.weights[1, :, 2:] == 0).all())
        (torch.Size([2, 3, 6]), True)
    """

    def __init__(self, queries: int, keys: int, size: int) -> None:
        super().__init__(queries, keys, size)
        self.query, self.key = nn.Linear(queries, size), nn.Linear(keys, size)

    def weights(self, queries: Tensor, keys: Tensor, inside: Tensor) -> Tensor:
        scores = self.query(queries) @ self.key(keys).mT
        return masked_softmax(scores * self.query.out_features**-0.5, inside)


class AdditiveAttention(Attention):
    """Additive attention: a softmax over the scores of a perceptron with one hidden layer (Bahdanau et al. 2015).

    Args:
        queries: Size of the queries.
        keys: Size of the keys.
        size: Size of the hidden layer.

    Raises:
        ValueError: If a size is less than 1.

    Complexity: O(batch t n size) memory: the hidden layer is computed for each pair of a query and a key.

    Examples:
        >>> attend = AdditiveAttention(4, 6, 8)
        >>> attended = attend(torch.randn(2, 3, 4), torch.randn(2, 5, 6), torch.tensor([5, 2]))
        >>> attended.context.shape, bool((attended.weights[1, :, 2:] == 0).all())
        (torch.Size([2, 3, 6]), True)
    """

    def __init__(self, queries: int, keys: int, size: int) -> None:
        super().__init__(queries, keys, size)
        self.scores = AdditiveScores(queries, keys, size)

    def weights(self, queries: Tensor, keys: Tensor, inside: Tensor) -> Tensor:
        return masked_softmax(self.scores(keys.unsqueeze(1), queries.unsqueeze(2)), inside)


class AdditiveScores(nn.Module):
    """Additive scores ``v tanh(W q + U k + b)`` of a query q with a key k; v, W, U and b are learned.

    The batch axes of keys ``(*batch, keys)`` and queries ``(*batch, queries)`` broadcast. The scores are
    ``(*batch,)``.
    """

    def __init__(self, queries: int, keys: int, size: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(queries, size), nn.Linear(keys, size, bias=False)
        self.output = nn.Linear(size, 1, bias=False)

    def forward(self, keys: Tensor, queries: Tensor) -> Tensor:
        scores: Tensor = self.output((self.query(queries) + self.key(keys)).tanh()).squeeze(-1)
        return scores


def masked_softmax(scores: Tensor, inside: Tensor) -> Tensor:
    """Return the softmax over the last axis, restricted to positions where ``inside`` is True; 0 elsewhere.

    The mask broadcasts to the scores. Where it is False along the whole axis, all weights are 0.
    """
    some = inside.any(-1, keepdim=True)
    weights = scores.masked_fill(~inside & some, -torch.inf).softmax(-1)
    return weights.masked_fill(~inside, 0.0)
