"""Tables gone through in pieces that fit into a cache."""

from __future__ import annotations

import torch
from torch import Tensor

CACHED = 1 << 19
"""Numbers in a piece of a table that is gone through several times."""


def rows_at_once(table: Tensor) -> int:
    """How many rows of a table ``(n, m)`` are a piece, at least 1."""
    return max(CACHED // max(table.shape[1], 1), 1)


def pieces(*tables: Tensor) -> zip[tuple[Tensor, ...]]:
    """The same rows of several tables, of which the first decides how many at once."""
    size = rows_at_once(tables[0])
    return zip(*(torch.split(table, size) for table in tables), strict=True)
