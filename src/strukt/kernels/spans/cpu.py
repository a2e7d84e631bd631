"""A Numba kernel that reads binary trees over spans."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.jit import kernel

Array = npt.NDArray[Any]


def read(events: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return places, labels and which items are trees: see `strukt.kernels.spans.read`."""
    batch, size = events.shape[:2]
    places, labels = np.full((batch, 2 * size - 2), -1), np.zeros((batch, 2 * size - 2), np.int64)
    are_trees = np.zeros(batch, np.bool_)
    _read(events.contiguous().numpy(), lengths.contiguous().numpy(), places, labels, are_trees)
    return torch.from_numpy(places), torch.from_numpy(labels), torch.from_numpy(are_trees)


@kernel
def _read(events: Array, lengths: Array, places: Array, labels: Array, are_trees: Array) -> None:
    """Fill ``places`` and ``labels`` item by item; a wider span must have both its children.

    Its left child is the widest of the narrower spans that begin with it, the one before it in its row.
    """
    batch, size, _ = events.shape
    for b in range(batch):
        n, count = lengths[b], 0
        complete = n == 0 or events[b, 0, n] >= 0
        for start in range(n):
            before = start
            for end in range(start + 1, n + 1):
                if events[b, start, end] < 0:
                    continue
                if end > start + 1:
                    complete &= before > start and events[b, before, end] >= 0
                before = end
                if count < places.shape[1]:
                    places[b, count] = start * size + end
                    labels[b, count] = events[b, start, end]
                count += 1
        are_trees[b] = complete and count == max(2 * n - 1, 0)
