"""Tables processed in pieces that fit into a cache."""

from __future__ import annotations

import torch
from torch import Tensor

CACHED = 1 << 19
"""The largest number of entries of a piece, so that a piece that is read several times stays in the cache."""


def rows_at_once(table: Tensor) -> int:
    """Return the number of rows of a piece of a table ``(n, m)``, at least 1."""
    return max(CACHED // max(table.shape[1], 1), 1)


def pieces(*tables: Tensor) -> zip[tuple[Tensor, ...]]:
    """Iterate over pieces of several tables: the same rows of each, as many as `rows_at_once` of the first."""
    size = rows_at_once(tables[0])
    return zip(*(torch.split(table, size) for table in tables), strict=True)
