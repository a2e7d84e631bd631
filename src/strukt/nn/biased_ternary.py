"""Ternary scores from two factors that all distances share, plus a bias that depends on the head's distance."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strukt.kernels import biased_attention
from strukt.kernels.buckets import Buckets
from strukt.nn.inputs import precise
from strukt.nn.ternary.base import Rows, as_tables, projected, projected_back
from strukt.nn.ternary.factored import Factored


class BiasedUV(Factored):
    """Ternary scores ``T^(c) = U^(c) V^(c)'`` at all distances, plus a bias of heads for each channel and bucket.

    The biases affect the choice of heads only, and send no messages to labels. Messages between words are thus
    attention with an additive bias, and `messages` never stores the scores of all pairs.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances; ``shared`` has no effect, because all of them share the factors.
        rank: The rank, r.
        symmetric: Whether V is U, so that all scores T are symmetric.

    Raises:
        ValueError: If a size is less than 1.

    Attributes:
        biases: ``(f, h)`` for f buckets: the biases times d, so that they weigh as much as scores of labels.
    """

    def __init__(
        self, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool = False
    ) -> None:
        super().__init__(labels, channels, Buckets(None, shared=False))
        self.distances = Buckets(buckets.reach, shared=False)
        self._set_factors(symmetric, labels, 1, channels, rank)
        self.biases = nn.Parameter(0.1 * torch.randn(self.distances.places, channels))

    def factors(self) -> tuple[Tensor, Tensor]:
        return as_tables(self._left), as_tables(self._right)

    def bias(self, n: int) -> Tensor:
        """Return the biases of head j of word i, by j - i from 1 - n to n - 1 for n words: ``(h, 2n - 1)``."""
        return biased_attention.by_distance(precise(self.biases) / self.labels, n, self.distances)

    def rows(self, probabilities: Tensor) -> Rows:
        left, right = (projected(probabilities, factor).squeeze(2) for factor in (self._left, self._right))
        return Rows(left, right)

    def forward(self, rows: Rows) -> Tensor:
        products = rows.dependents.transpose(1, 2) @ rows.heads.permute(0, 2, 3, 1)
        n = products.shape[-1]
        return products + biased_attention.pairs(self.bias(n)) if n else products

    def to_dependents(self, attention: Tensor, rows: Rows) -> Tensor:
        return projected_back((attention @ rows.heads.transpose(1, 2)).transpose(1, 2), self._left)

    def to_heads(self, attention: Tensor, rows: Rows) -> Tensor:
        return projected_back((attention.mT @ rows.dependents.transpose(1, 2)).transpose(1, 2), self._right)

    def messages(
        self, probabilities: Tensor, inside: Tensor, weight: float, causal: bool, tells_heads: bool
    ) -> Tensor:
        rows, n = self.rows(probabilities), inside.shape[1]
        if not n:
            return probabilities
        of_heads, of_dependents = biased_attention.messages(
            *rows, self.bias(n) / weight, inside, scale=1 / weight, causal=causal, transposed=tells_heads
        )
        messages = projected_back(of_heads, self._left)
        return messages if of_dependents is None else messages + projected_back(of_dependents, self._right)
