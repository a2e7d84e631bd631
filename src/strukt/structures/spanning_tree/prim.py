"""Best and k best spanning trees, and the best with each edge, by Prim's algorithm and exchanges of edges.

Required edges come before all others, for any scores: edges are compared as pairs. Functions are compiled if
Numba is installed, and plain Python otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, over_batch, thread_count
from strukt.kernels.semiring import NEG_INF
from strukt.structures.spanning_tree.arcs import required_edges


def kbest(edges: Tensor, absent: Tensor, lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return events ``(batch, k, n, n)`` and scores ``(batch, k)``, best first (Gabow 1977).

    Time O(k n^3 + k^2) per item; O(n^2) for k = 1.
    """
    batch, n, _ = edges.shape
    events, scores = np.full((batch, k, n, n), -1, np.int64), np.full((batch, k), -np.inf)
    _run(_kbest_items, k * n, edges, absent, lengths, events, scores)
    return torch.from_numpy(events).to(edges.device), torch.from_numpy(scores).to(edges.device, edges.dtype)


def max_marginals(edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each edge, the best score of a tree that uses it: ``(batch, n, n)``; time O(n^2) per item.

    It is the score of the best tree, plus that of the edge, minus that of the edge it displaces; the gradient is
    that of this sum.
    """
    batch, n, _ = edges.shape
    tree, displaced = np.zeros((batch, max(n - 1, 0)), np.int64), np.full((batch, n, n), -1, np.int64)
    _run(_displaced_items, 1, edges, absent, lengths, tree, displaced)
    arrays = tree, displaced.reshape(batch, n * n)
    places, removed = (torch.from_numpy(array).to(edges.device) for array in arrays)
    scores = edges.double().flatten(1)
    within = torch.arange(places.shape[1], device=edges.device) < (lengths - 1).unsqueeze(-1)
    total = torch.where(within, scores.gather(1, places), 0.0).sum(1, keepdim=True)
    possible = (removed >= 0) & (scores > NEG_INF)
    result = total + scores - scores.gather(1, removed.clamp(min=0))
    return torch.where(possible, result, NEG_INF).view_as(edges).to(edges.dtype)


def _run(items: Any, rounds: int, edges: Tensor, absent: Tensor, lengths: Tensor, *out: Array) -> None:
    required, threads = required_edges(edges, absent, lengths), thread_count(len(edges), edges.numel() * rounds)
    over_batch(items, threads, edges.double().cpu(), required.cpu(), lengths.cpu(), *out)


@kernel
def _kbest_items(
    edges: Array, required: Array, lengths: Array, events: Array, scores: Array, start: int, step: int
) -> None:
    """Write the k best trees of each item and their scores.

    Arrays: ``edges`` and ``required (batch, n, n)``, ``lengths (batch,)``, ``events (batch, k, n, n)`` and
    ``scores (batch, k)``.
    """
    for b in range(start, edges.shape[0], step):
        n = lengths[b]
        _kbest(edges[b, :n, :n], required[b, :n, :n], events[b, :, :n, :n], scores[b])


@kernel
def _displaced_items(
    edges: Array, required: Array, lengths: Array, tree: Array, displaced: Array, start: int, step: int
) -> None:
    """Write the best tree of each item, and for each other edge the edge of the tree that it would replace.

    Arrays: ``edges``, ``required`` and ``displaced (batch, n, n)``, ``lengths (batch,)``, and ``tree (batch, n -
    1)``, the places of its edges.
    """
    for b in range(start, edges.shape[0], step):
        n, width = lengths[b], edges.shape[1]
        _displaced(edges[b, :n, :n], required[b, :n, :n], width, tree[b], displaced[b])


@inner
def _kbest(weights: Array, required: Array, events: Array, scores: Array) -> None:
    """Write the k best trees; each one splits the others of its part by the first of its edges that they lack.

    The best tree without one edge of the best tree exchanges that edge. The edges before it become fixed, and the
    edge itself is closed.
    """
    n, k = weights.shape[0], events.shape[0]
    size = max(n - 1, 0)
    tree = np.zeros((k, size, 2), np.int64)
    fixed = np.zeros((k, size), np.bool_)
    closed = np.zeros((k, n, n), np.bool_)
    new_edges = np.zeros((k, size, 2), np.int64)  # those that replace the edges of each tree
    values = np.full((k, size), -np.inf)  # the scores after these exchanges
    highest = np.full(k, -np.inf)
    if not _prim(weights, required, tree[0]):
        return
    for rank in range(k):
        if rank == 0:
            for i in range(size):
                fixed[0, i] = required[tree[0, i, 0], tree[0, i, 1]]
        else:
            source = int(np.argmax(highest[:rank]))
            if highest[source] == -np.inf:
                return
            place = int(np.argmax(values[source]))
            values[source, place] = -np.inf
            highest[source] = values[source].max()
            _exchange(source, place, new_edges[source, place], rank, tree, fixed, closed)
        scores[rank] = _write(weights, tree[rank], events[rank])
        if rank == k - 1:
            return
        for i in range(size):
            if not fixed[rank, i]:
                gain = _best_exchange(weights, closed[rank], tree[rank], i, new_edges[rank, i])
                values[rank, i] = scores[rank] + gain
                highest[rank] = max(highest[rank], values[rank, i])


@inner
def _exchange(
    source: int, place: int, new_edge: Array, rank: int, tree: Array, fixed: Array, closed: Array
) -> None:
    """Write a tree, and the fixed and closed edges of its part, from the tree of an earlier rank, the source."""
    tree[rank] = tree[source]
    fixed[rank] = fixed[source]
    closed[rank] = closed[source]
    fixed[rank, :place] = True
    closed[rank, tree[source, place, 0], tree[source, place, 1]] = True
    tree[rank, place] = new_edge


@inner
def _best_exchange(weights: Array, closed: Array, tree: Array, place: int, new_edge: Array) -> float:
    """Write the best replacement of an edge of the tree to ``new_edge (2,)``; return the gain, -inf for none."""
    n = weights.shape[0]
    side = np.zeros(n, np.bool_)
    side[tree[place, 0]] = True
    grown = True
    while grown:
        grown = False
        for i in range(n - 1):
            if i != place and side[tree[i, 0]] != side[tree[i, 1]]:
                side[tree[i, 0]] = side[tree[i, 1]] = True
                grown = True
    best = -np.inf
    for u in range(n):
        for v in range(u + 1, n):
            is_removed = u == tree[place, 0] and v == tree[place, 1]
            if side[u] != side[v] and not is_removed and not closed[u, v] and weights[u, v] > best:
                best = weights[u, v]
                new_edge[0], new_edge[1] = u, v
    return best - weights[tree[place, 0], tree[place, 1]]  # type: ignore[no-any-return]


@inner
def _write(weights: Array, tree: Array, event: Array) -> float:
    """Write an event; return its score."""
    n = weights.shape[0]
    for u in range(n):
        event[u, u + 1 :] = 0
    total = 0.0
    for i in range(tree.shape[0]):
        event[tree[i, 0], tree[i, 1]] = 1
        total += weights[tree[i, 0], tree[i, 1]]
    return total


@inner
def _prim(weights: Array, required: Array, tree: Array) -> bool:
    """Write the edges of the best tree as Prim's algorithm adds them; return True if it has all required edges."""
    n = weights.shape[0]
    near = np.zeros(n, np.int64)
    joined = np.zeros(n, np.bool_)
    if n:
        joined[0] = True
    count = 0
    for i in range(tree.shape[0]):
        new = 0
        for v in range(1, n):
            if not joined[v] and (new == 0 or _better(weights, required, near[v], v, near[new], new)):
                new = v
        tree[i, 0], tree[i, 1] = min(near[new], new), max(near[new], new)
        if weights[tree[i, 0], tree[i, 1]] == -np.inf:
            return False
        count += required[tree[i, 0], tree[i, 1]]
        joined[new] = True
        for v in range(1, n):
            if not joined[v] and _better(weights, required, new, v, near[v], v):
                near[v] = new
    return count == required.sum()  # type: ignore[no-any-return]


@inner
def _better(weights: Array, required: Array, u: int, v: int, x: int, y: int) -> bool:
    """Return True if edge u v precedes edge x y: allowed before forbidden, then required first, then by score."""
    u, v, x, y = min(u, v), max(u, v), min(x, y), max(x, y)
    if weights[u, v] == -np.inf or weights[x, y] == -np.inf:
        return weights[u, v] > weights[x, y]  # type: ignore[no-any-return]
    if required[u, v] != required[x, y]:
        return required[u, v]  # type: ignore[no-any-return]
    return weights[u, v] > weights[x, y]  # type: ignore[no-any-return]


@inner
def _displaced(weights: Array, required: Array, width: int, places: Array, displaced: Array) -> None:
    """Write the best tree, and for each edge the worst optional edge on the path that it closes.

    Edge u v has the number ``u * width + v``. Edges of the tree displace themselves. -1 if nothing can be
    displaced, or there is no tree.
    """
    n = weights.shape[0]
    tree = np.zeros((max(n - 1, 0), 2), np.int64)
    if not _prim(weights, required, tree):
        return
    joined = np.zeros(n, np.bool_)
    for i in range(n - 1):
        old, new = tree[i, 0], tree[i, 1]
        places[i] = old * width + new
        if joined[new] or (i == 0 and new == 0):
            old, new = new, old
        joined[old] = True
        weight, stays = weights[tree[i, 0], tree[i, 1]], required[tree[i, 0], tree[i, 1]]
        for u in range(n):
            if joined[u]:
                lowest = -1 if u == old else displaced[u, old]
                if not stays and (lowest < 0 or weight < weights[lowest // width, lowest % width]):
                    lowest = places[i]
                displaced[u, new] = displaced[new, u] = lowest
        joined[new] = True
    for i in range(n - 1):
        displaced[tree[i, 0], tree[i, 1]] = places[i]
    for u in range(n):
        displaced[u, : u + 1] = -1
