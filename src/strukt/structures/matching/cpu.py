"""Compiled kernels of matchings: the Hungarian algorithm, alone and as the oracle of SparseMAP."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import kernel, over_batch, thread_count, write
from strukt.kernels.memory import no_events
from strukt.kernels.sparsemap import active_set
from strukt.kernels.sparsemap.result import Result, Settings, Start, close_item, open_item
from strukt.kernels.sparsemap.result import solve as solve_items
from strukt.kernels.sparsemap.state import ActiveSet, is_open, of_item
from strukt.structures.matching.cpu_hungarian import assign, make_prices


def best(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the column of each row in a best matching, ``(batch, n)``, and its score ``(batch,)``.

    -1 in the padding; -1 and -inf if every matching is forbidden. Time O(n^2 m) per item, items in parallel.
    """
    batch, n, m = scores.shape
    columns, total = no_events(batch, n), torch.zeros(batch, dtype=torch.float64)
    if batch and n:
        threads = thread_count(batch, batch * n * n * m)
        over_batch(_best, threads, scores.double(), lengths, columns, total)
    return columns, total.to(scores.dtype)


def sparsemap(scores: Tensor, lengths: Tensor, begin: Start, settings: Settings) -> Result:
    """Run SparseMAP and return its active sets of matchings; each best matching takes O(n^2 m)."""
    batch, n, m = scores.shape
    threads = thread_count(batch, 10 * batch * n * n * m)
    return solve_items(_sparsemap, threads, batch, n * m, n, begin, settings, scores.double(), lengths)


@kernel
def _best(scores: Array, lengths: Array, columns: Array, total: Array, start: int, step: int) -> None:
    """Write the best matchings, and add their scores to ``total (batch,)``, which must be 0 before.

    The other arrays are ``scores (batch, n, m)``, ``lengths (batch,)``, and the result ``columns (batch, n)``; -1
    and -inf if every matching is forbidden.
    """
    prices = make_prices(scores.shape[1], scores.shape[2])
    for b in range(start, scores.shape[0], step):
        n = lengths[b]
        prices.columns[:] = 0.0
        if not assign(scores[b, :n], prices, columns[b, :n]):
            columns[b, :n] = -1
            total[b] = -np.inf
        for row in range(n):
            total[b] += scores[b, row, max(columns[b, row], 0)]


@kernel
def _sparsemap(
    scores: Array, lengths: Array, begin: Start, settings: Settings, sets: ActiveSet, result: Result,
    start: int, step: int,
) -> None:  # fmt: skip
    """Run SparseMAP for ``scores (batch, n, m)`` and ``lengths (batch,)``."""
    batch, longest, m = scores.shape
    prices = make_prices(longest, m)
    columns, parts = np.empty(longest, np.int64), np.empty(longest, np.int32)
    for b in range(start, batch, step):
        n = lengths[b]
        prices.columns[:] = 0.0
        state = of_item(sets, start, n * m)
        write(state.main, scores[b, :n].reshape(-1))
        open_item(state, begin, b)
        while is_open(state):
            if not assign(state.query.reshape((n, m)), prices, columns[:n]):
                active_set.fail(state)
                break
            for row in range(n):
                parts[row] = row * m + columns[row]
            active_set.advance(state, parts, n, 0.0, settings.max_calls, settings.tol)
        close_item(state, result, b)
