"""The Hungarian algorithm for the assignment problem, in Numba.

Rows are added one after another, each along a shortest augmenting path under prices that keep all reduced costs
at 0 or above (Kuhn 1955; Munkres 1957; in the form of Jonker and Volgenant 1987). Forbidden pairs cost infinity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner


class Prices(NamedTuple):
    """Prices and workspace of the assignment problem of n rows and m columns.

    Row n and column m are dummies: the former owns free columns, and at the latter an augmenting path begins.

    Attributes:
        rows: ``(n + 1,)``, the prices (dual variables) of rows.
        columns: ``(m + 1,)``, the prices of columns.
        owner: ``(m + 1,)``, the row of each column, n if it is free.
        before: ``(m + 1,)``, the predecessor of each column on the shortest path.
        distance: ``(m + 1,)``, the length of the path to each column.
        closed: ``(m + 1,)``, True for columns to which the path is known to be the shortest.
    """

    rows: Array
    columns: Array
    owner: Array
    before: Array
    distance: Array
    closed: Array


@inner
def make_prices(n: int, m: int) -> Prices:
    """Allocate the workspace of n rows and m columns; all prices of columns are 0."""
    return Prices(
        np.empty(n + 1), np.zeros(m + 1), np.empty(m + 1, np.int64), np.empty(m + 1, np.int64), np.empty(m + 1),
        np.empty(m + 1, np.bool_),
    )  # fmt: skip


@inner
def assign(scores: Array, prices: Prices, columns: Array) -> bool:
    """Write the column of each row in a best matching to ``columns (n,)``; return False if all are forbidden.

    ``scores`` is ``(n, m)``. If n = m, the prices of columns are reused from the last call: for similar scores,
    most rows then get their best column at once. If n < m, they are reset to 0, because free columns must have
    price 0.
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
    """Return the free column at the end of the cheapest augmenting path of a row; -1 if there is none.

    The path is written to ``prices.before``, and the prices are updated.
    """
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
