"""Best matchings (assignment problem), the k best, and the best that use each pair.

Other matchings follow from an optimal one by exchanges: a row moves to the column of a second row, which moves to
that of a third, and so on, until a row takes the column that the first one has left, or a free one. No exchange
improves an optimal matching, so the best exchanges are longest paths in a graph without positive cycles, found for
all pairs at once (Floyd 1962; Warshall 1962). Forbidden pairs are -inf throughout, never a finite penalty.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from strukt.kernels.arrays import Floats

Columns = npt.NDArray[np.int64]

_ROUNDING = 1e-12
"""The difference of two gains, relative to one plus the largest gain, up to which they count as equal."""


def kbest(scores: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best matchings ``(batch, k, n)``, best first, and scores ``(batch, k)``; time O(k n^2 m).

    A matching is the column of each row, -1 in the padding. If there are fewer than k, the others are -1, with
    score -inf. ``scores`` is ``(batch, n, m)``, and ``lengths (batch,)`` are numbers of rows.
    """
    batch, n, _ = scores.shape
    columns = np.full((batch, k, n), -1, np.int64)
    best = np.full((batch, k), -np.inf)
    for item, weights in enumerate(_items(scores, lengths)):
        ranked = sorted(
            ((_score(weights, result), result) for result in itertools.islice(_ranked(weights), k)),
            key=lambda pair: -pair[0],
        )
        for rank, (score, result) in enumerate(ranked):
            best[item, rank] = score
            columns[item, rank, : len(result)] = result
    return torch.from_numpy(columns).to(scores.device), torch.from_numpy(best).to(scores.device, scores.dtype)


def max_marginals(scores: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each pair, the best score of a matching that uses it: ``(batch, n, m)``; time O(n^2 m).

    The score is -inf if no matching uses the pair, and in the padding. Its gradient is the 0/1 matrix of the pairs
    of the matching. The gradient of all scores takes O(n^2 m), too, and cannot be differentiated again.
    """
    result: Tensor = _MaxMarginals.apply(scores, lengths)  # type: ignore[no-untyped-call]
    return result


class _MaxMarginals(torch.autograd.Function):
    """Autograd function of `max_marginals`, once differentiable."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, lengths: Tensor) -> Tensor:
        ctx.save_for_backward(scores, lengths)
        result = np.full(scores.shape, -np.inf)
        for item, weights in enumerate(_items(scores, lengths)):
            columns = _solve(weights)
            if columns is not None:
                result[item, : len(weights)] = _best_with_each_pair(weights, columns)
        return torch.from_numpy(result).to(scores.device, scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        scores, lengths = ctx.saved_tensors
        result = np.zeros(scores.shape)
        for item, (weights, weighted) in enumerate(
            zip(_items(scores, lengths), _items(gradient, lengths), strict=True)
        ):
            columns = _solve(weights)
            if columns is not None:
                result[item, : len(weights)] = _parts_with_each_pair(weights, columns, weighted)
        return torch.from_numpy(result).to(scores.device, scores.dtype), None


def _items(scores: Tensor, lengths: Tensor) -> Iterator[Floats]:
    """Iterate over the items: yield the scores ``(length, m)`` of each, without padding, in float64."""
    every = scores.detach().double().cpu().numpy()
    return (weights[:length] for weights, length in zip(every, lengths.tolist(), strict=True))


def _solve(weights: Floats) -> Columns | None:
    """Return the column of each row in a best matching; None if there is no matching."""
    from scipy.optimize import linear_sum_assignment  # takes as long to import as the rest of strukt

    try:
        _, columns = linear_sum_assignment(weights, maximize=True)
    except ValueError:  # SciPy: infeasible cost matrix
        return None
    return np.asarray(columns, np.int64)


def _score(weights: Floats, columns: Columns) -> float:
    """Return the score of a matching, the column of each row."""
    return float(weights[np.arange(len(columns)), columns].sum())


def _ranked(weights: Floats) -> Iterator[Columns]:
    """Yield all matchings, best first (Murty 1968); ``weights (n, m)`` are scores.

    A queue holds disjoint sets of matchings by the score of their best one. A set has fixed columns of the first
    rows (``kept``), and columns that the next row must not take (``closed``). The best matching of the first set
    is yielded. The rest of the set is split by the first row whose column differs from it; exchanges give the best
    score of each new set.
    """
    first = _solve(weights)
    if first is None:
        return
    order = itertools.count()
    waiting: list[tuple[float, int, Columns, tuple[int, ...]]] = [(0.0, next(order), first[:0], ())]
    while waiting:
        *_, kept, closed = heapq.heappop(waiting)
        rest = _restricted(weights, kept, closed)
        result = _solve(rest)
        if result is None:
            raise AssertionError("an exchange of finite gain leads to a matching")
        columns = np.append(kept, result)
        yield columns
        score = _score(weights, columns)
        for offset, gain in enumerate(_best_departures(rest, result)):
            row = len(kept) + offset
            left = (*closed, columns[row]) if offset == 0 else (columns[row],)
            if gain > -np.inf:
                heapq.heappush(waiting, (-(score + gain), next(order), columns[:row], left))


def _restricted(weights: Floats, kept: Columns, closed: tuple[int, ...]) -> Floats:
    """Return the scores of the rows after ``kept``: -inf in kept columns, in the first row also in closed ones."""
    rest = weights[len(kept) :].copy()
    rest[:, kept] = -np.inf
    if closed:
        rest[0, list(closed)] = -np.inf
    return rest


def _exchanges(weights: Floats, columns: Columns) -> Floats:
    """Return the gains ``(n + 1, n + 1)``: at ``[x, y]``, that of moving row x to the column of row y.

    Index n stands for the free columns: ``[x, n]`` is the gain of the best of these, and ``[n, y]`` is 0.
    """
    n = len(columns)
    assigned = weights[np.arange(n), columns]
    gains = np.zeros((n + 1, n + 1))
    gains[:n, :n] = weights[:, columns] - assigned[:, None]
    gains[:n, n] = np.delete(weights, columns, 1).max(1, initial=-np.inf) - assigned
    return gains


def _best_departures(weights: Floats, columns: Columns) -> Floats:
    """Return, for each row, the gain of the best matching that changes its column and no row before it."""
    gains = _exchanges(weights, columns)
    np.fill_diagonal(gains, -np.inf)
    best = np.empty(len(columns))
    for through in range(len(columns), -1, -1):
        if through < len(columns):
            best[through] = gains[through, through]  # so far, cycles through later rows only
        _let_through(gains, through)
    return best


def _best_with_each_pair(weights: Floats, columns: Columns) -> Floats:
    """Return, for each pair, the best score of a matching with it, ``(n, m)``; ``columns`` is a best matching."""
    n = len(columns)
    paths = _exchanges(weights, columns)
    for through in range(n + 1):
        _let_through(paths, through)
    moved = weights - weights[np.arange(n), columns][:, None]
    return _score(weights, columns) + moved + paths[_owners(weights, columns), :n].T


def _parts_with_each_pair(weights: Floats, columns: Columns, weighted: Floats) -> Floats:
    """Return a weighted sum of 0/1 matrices ``(n, m)``: for each pair, the best matching that uses it.

    ``weighted (n, m)`` holds the weight of each pair, ``weights`` are scores, and ``columns`` a best matching. A
    pair moves its row to the column of another row. This row takes the column of the next one on the longest path,
    and so on, until a row takes the column that the first row has left, or a free one.
    """
    n, m = weights.shape
    onward, reached = _first_steps(_exchanges(weights, columns))
    rows, pairs = np.indices((n, m))
    owners = _owners(weights, columns)
    possible = (weights > -np.inf) & reached[owners, :n].T
    weighted = np.where(possible, weighted, 0.0)
    others = weights.copy()
    others[:, columns] = -np.inf
    free = others.argmax(1)
    parts = np.zeros((n, m))
    parts[np.arange(n), columns] += weighted.sum()
    np.add.at(parts, (rows, pairs), weighted)
    np.add.at(parts, (rows, columns[rows]), -weighted)
    here = np.where(possible, owners[pairs], rows)
    for _ in range(n):
        there = np.where(here == rows, rows, onward[here, rows])
        moves = (here != there) & (here < n)
        row, following = here[moves], there[moves]
        column = np.where(following < n, columns[following.clip(max=n - 1)], free[row])
        np.add.at(parts, (row, column), weighted[moves])
        np.add.at(parts, (row, columns[row]), -weighted[moves])
        here = there
    return parts


def _first_steps(steps: Floats) -> tuple[Columns, npt.NDArray[np.bool_]]:
    """Return the node after x on the longest path from x to y, and a mask of the y that are reachable from x.

    Both are ``[x, y]``; ``steps[x, y]`` is the length of the step from x to y.
    """
    paths, onward = steps, np.arange(len(steps))[None].repeat(len(steps), 0)
    least = _ROUNDING * (1 + np.abs(paths[np.isfinite(paths)]).max(initial=0.0))
    for through in range(len(steps)):
        longer = paths[:, through, None] + paths[None, through]
        better = longer > paths + least  # rounding: cycles of gain 0 must not seem to have one
        onward, paths = np.where(better, onward[:, through, None], onward), np.where(better, longer, paths)
    return onward, np.isfinite(paths)


def _owners(weights: Floats, columns: Columns) -> Columns:
    """Return the row of each column, ``(m,)``; n for free columns."""
    owners = np.full(weights.shape[1], len(columns))
    owners[columns] = np.arange(len(columns))
    return owners


def _let_through(paths: Floats, node: int) -> None:
    """Extend the longest paths between all pairs by those through one more node (Floyd-Warshall step)."""
    np.maximum(paths, paths[:, node, None] + paths[None, node], out=paths)
