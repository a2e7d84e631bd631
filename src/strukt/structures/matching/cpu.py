"""Compiled kernels of matchings: the assignment problem, alone and as the oracle of SparseMAP.

Rows are added one after another, each along a shortest augmenting path under prices that keep all reduced costs
above 0 (Kuhn 1955; Munkres 1957; in the form of Jonker and Volgenant 1987). Forbidden pairs cost infinity.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.jit import inner, kernel, over_batch, thread_count, write
from strukt.kernels.memory import no_events
from strukt.kernels.sparsemap import active_set
from strukt.kernels.sparsemap.found import Found, Settings, Start, close_item, open_item
from strukt.kernels.sparsemap.found import solve as solve_items
from strukt.kernels.sparsemap.state import ActiveSet, is_open, of_item

Array = npt.NDArray[Any]


class Prices(NamedTuple):
    """Workspace of the assignment problem of n rows and m columns; row n and column m mean none.

    Attributes:
        rows: ``(n + 1,)``, the prices (dual variables) of rows.
        columns: ``(m + 1,)``, the prices of columns.
        owner: ``(m + 1,)``, the row of each column, n if it is free.
        before: ``(m + 1,)``, the column before each on the shortest path.
        distance: ``(m + 1,)``, the length of the path to each column.
        closed: ``(m + 1,)``, whether the path is known to be the shortest.
    """

    rows: Array
    columns: Array
    owner: Array
    before: Array
    distance: Array
    closed: Array


def best(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the column of each row ``(batch, n)`` and the score; time O(n^2 m) an item, items in parallel."""
    batch, n, m = scores.shape
    columns, total = no_events(batch, n), torch.zeros(batch, dtype=torch.float64)
    if batch and n:
        threads = thread_count(batch, batch * n * n * m)
        over_batch(_best, threads, *_arrays(scores, lengths), columns.numpy(), total.numpy())
    return columns, total.to(scores.dtype)


def sparsemap(scores: Tensor, lengths: Tensor, begin: Start, settings: Settings) -> Found:
    """Return the matchings of SparseMAP; each call of the oracle takes O(n^2 m)."""
    batch, n, m = scores.shape
    threads = thread_count(batch, 10 * batch * n * n * m)
    return solve_items(_sparsemap, threads, batch, n * m, n, begin, settings, *_arrays(scores, lengths))


def _arrays(scores: Tensor, lengths: Tensor) -> tuple[Array, Array]:
    return scores.detach().double().contiguous().numpy(), lengths.detach().contiguous().numpy()


@kernel
def _best(scores: Array, lengths: Array, columns: Array, total: Array, start: int, step: int) -> None:
    prices = _make_prices(scores.shape[1], scores.shape[2])
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
    scores: Array, lengths: Array, begin: Start, settings: Settings, sets: ActiveSet, found: Found,
    start: int, step: int,
) -> None:  # fmt: skip
    batch, longest, m = scores.shape
    prices = _make_prices(longest, m)
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
        close_item(state, found, b)


@inner
def _make_prices(n: int, m: int) -> Prices:
    return Prices(
        np.empty(n + 1), np.zeros(m + 1), np.empty(m + 1, np.int64), np.empty(m + 1, np.int64), np.empty(m + 1),
        np.empty(m + 1, np.bool_),
    )  # fmt: skip


@inner
def assign(scores: Array, prices: Prices, columns: Array) -> bool:
    """Write the column of each row in a best matching; return False if every matching is forbidden.

    If all columns are matched, their prices are reused from the last call: for similar scores, most rows then get
    their best column at once. Free columns must have price 0.
    """
    n, m = scores.shape
    if n < m:
        prices.columns[:] = 0.0
    prices.columns[m] = 0.0
    prices.owner[:] = n
    for row in range(n):
        columns[row] = _cheapest(scores, prices, row)
        if columns[row] < 0:
            return False
        if prices.owner[columns[row]] == n:
            prices.owner[columns[row]] = row
        else:
            columns[row] = -1
    for row in range(n):
        if columns[row] >= 0:
            continue
        last = _shortest_path(scores, prices, row)
        if last < 0:
            return False
        while last != m:
            before = prices.before[last]
            prices.owner[last] = prices.owner[before]
            last = before
    for column in range(m):
        if prices.owner[column] < n:
            columns[prices.owner[column]] = column
    return True


@inner
def _cheapest(scores: Array, prices: Prices, row: int) -> int:
    """Return the cheapest column of a row, -1 if all are forbidden; set the row's price to its cost."""
    lowest, column = np.inf, -1
    for j in range(scores.shape[1]):
        cost = -scores[row, j] - prices.columns[j]
        if cost < lowest:
            lowest, column = cost, j
    prices.rows[row] = lowest
    return column


@inner
def _shortest_path(scores: Array, prices: Prices, row: int) -> int:
    """Return the free column at the end of the cheapest augmenting path of a row; -1 if there is none."""
    n, m = scores.shape
    prices.owner[m] = row
    prices.distance[:] = np.inf
    prices.closed[:] = False
    column = int(m)
    while prices.owner[column] != n:
        prices.closed[column] = True
        owner, shortest, following = prices.owner[column], np.inf, -1
        for j in range(m):
            if not prices.closed[j]:
                cost = -scores[owner, j] - prices.rows[owner] - prices.columns[j]
                if cost < prices.distance[j]:
                    prices.distance[j], prices.before[j] = cost, column
                if prices.distance[j] < shortest:
                    shortest, following = prices.distance[j], j
        if following < 0:
            return -1
        for j in range(m + 1):
            if prices.closed[j]:
                prices.rows[prices.owner[j]] += shortest
                prices.columns[j] -= shortest
            else:
                prices.distance[j] -= shortest
        column = int(following)
    return column
