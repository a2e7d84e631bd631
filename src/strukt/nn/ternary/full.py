"""Ternary scores from full tables."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strukt.kernels import distance_attention
from strukt.kernels.buckets import Buckets
from strukt.nn.inputs import precise
from strukt.nn.ternary.base import BucketedTernary, as_tables, projected, projected_back


class FullTernary(BucketedTernary):
    """Full ternary scores: a table for each channel and bucket.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        buckets: The buckets of distances.
        symmetric: Whether all tables are symmetric; the mean of a table and its transpose is then used.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> from strukt.kernels.buckets import Buckets
        >>> FullTernary(5, 2, Buckets(3)).tables().shape
        torch.Size([8, 2, 5, 5])
    """

    def __init__(self, labels: int, channels: int, buckets: Buckets, symmetric: bool = False) -> None:
        super().__init__(labels, channels, buckets)
        self.symmetric = symmetric
        self.table = nn.Parameter(torch.randn(labels, buckets.places, channels, labels))

    def factors(self) -> tuple[Tensor, Tensor]:
        table = as_tables(self._table())
        eye = torch.eye(self.labels, dtype=table.dtype, device=table.device)
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
        messages = projected_back(over_heads, table)
        return messages if over_dependents is None else messages + over_dependents[:, :, 0, 0]

    def _table(self) -> Tensor:
        table = precise(self.table)
        return 0.5 * (table + table.transpose(0, 3)) if self.symmetric else table
