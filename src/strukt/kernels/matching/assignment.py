"""Best matchings: the assignment problem, the k best, and the best that use each pair.

What is optimal given one matching follows from the exchanges that turn it into others: a row moves to the
column of a second row, which moves to that of a third, and so on, until a row takes the column that the first
has left, or one that was free. No exchange improves an optimal matching, so that the best exchanges are longest
paths in a graph without positive cycles, found for all pairs at once (Floyd 1962; Warshall 1962). Forbidden
pairs stay -inf all the way: no penalty stands in for them.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]


def kbest(scores: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Columns of the k best matchings ``(batch, k, n)`` and their scores ``(batch, k)``; time O(k n^2 m)."""
    batch, n, _ = scores.shape
    columns = np.full((batch, k, n), -1, np.int64)
    best = np.full((batch, k), -np.inf)
    for item, weights in enumerate(_items(scores, lengths)):
        ranked = sorted(
            ((_score(weights, found), found) for found in itertools.islice(_ranked(weights), k)),
            key=lambda pair: -pair[0],
        )
        for rank, (score, found) in enumerate(ranked):
            best[item, rank] = score
            columns[item, rank, : len(found)] = found
    return torch.from_numpy(columns).to(scores.device), torch.from_numpy(best).to(scores.device, scores.dtype)


def max_marginals(scores: Tensor, lengths: Tensor) -> Tensor:
    """For each pair the best score of a matching that uses it: ``(batch, n, m)``; time O(n^2 m)."""
    found = np.full(scores.shape, -np.inf)
    for item, weights in enumerate(_items(scores, lengths)):
        columns = _solve(weights)
        if columns is not None:
            found[item, : len(weights)] = _best_with_each_pair(weights, columns)
    return torch.from_numpy(found).to(scores.device, scores.dtype)


def _items(scores: Tensor, lengths: Tensor) -> Iterator[Array]:
    """The rows within the length of each item."""
    every = scores.detach().double().cpu().numpy()
    return (weights[:length] for weights, length in zip(every, lengths.tolist(), strict=True))


def _solve(weights: Array) -> Columns | None:
    """The column of each row in a best matching; None if there is no matching."""
    from scipy.optimize import linear_sum_assignment  # takes as long to import as the rest of strukt

    try:
        _, columns = linear_sum_assignment(weights, maximize=True)
    except ValueError:  # what scipy calls an infeasible cost matrix
        return None
    return np.asarray(columns, np.int64)


def _score(weights: Array, columns: Columns) -> float:
    return float(weights[np.arange(len(columns)), columns].sum())


def _ranked(weights: Array) -> Iterator[Columns]:
    """All matchings, best first (Murty 1968).

    Each matching found splits those that remain of its part by the first row whose column differs. The score
    of the best of each part follows from the exchanges; it is looked for only when its turn comes.
    """
    first = _solve(weights)
    if first is None:
        return
    order = itertools.count()
    waiting: list[tuple[float, int, Columns, tuple[int, ...]]] = [(0.0, next(order), first[:0], ())]
    while waiting:
        *_, kept, closed = heapq.heappop(waiting)
        rest = _restricted(weights, kept, closed)
        found = _solve(rest)
        if found is None:
            raise AssertionError("an exchange of finite gain leads to a matching")
        columns = np.append(kept, found)
        yield columns
        score = _score(weights, columns)
        for offset, gain in enumerate(_best_departures(rest, found)):
            row = len(kept) + offset
            left = (*closed, columns[row]) if offset == 0 else (columns[row],)
            if gain > -np.inf:
                heapq.heappush(waiting, (-(score + gain), next(order), columns[:row], left))


def _restricted(weights: Array, kept: Columns, closed: tuple[int, ...]) -> Array:
    """Scores of the rows after those that keep their columns; the first of them has columns closed to it."""
    rest = weights[len(kept) :].copy()
    rest[:, kept] = -np.inf
    if closed:
        rest[0, list(closed)] = -np.inf
    return rest


def _exchanges(weights: Array, columns: Columns) -> Array:
    """``[x, y]``: what is gained when row x moves to the column of row y; place n stands for all free columns."""
    n = len(columns)
    own = weights[np.arange(n), columns]
    gains = np.zeros((n + 1, n + 1))
    gains[:n, :n] = weights[:, columns] - own[:, None]
    gains[:n, n] = np.delete(weights, columns, 1).max(1, initial=-np.inf) - own
    return gains


def _best_departures(weights: Array, columns: Columns) -> Array:
    """For each row the gain of the best matching in which it leaves its column and all rows before it stay."""
    gains = _exchanges(weights, columns)
    np.fill_diagonal(gains, -np.inf)
    best = np.empty(len(columns))
    for through in range(len(columns), -1, -1):
        if through < len(columns):
            best[through] = gains[through, through]  # cycles through later rows only, so far
        _let_through(gains, through)
    return best


def _best_with_each_pair(weights: Array, columns: Columns) -> Array:
    n = len(columns)
    step = _exchanges(weights, columns)
    paths = step.copy()
    for through in range(n + 1):
        _let_through(paths, through)
    owner = np.full(weights.shape[1], n)
    owner[columns] = np.arange(n)
    moved = weights - weights[np.arange(n), columns][:, None]
    return _score(weights, columns) + moved + paths[owner, :n].T


def _let_through(paths: Array, node: int) -> None:
    """Lengthen the paths between all pairs by those through one more node."""
    np.maximum(paths, paths[:, node, None] + paths[None, node], out=paths)
