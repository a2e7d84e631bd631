"""Best and k best spanning trees, and the best with each edge, by Prim's algorithm and exchanges of edges.

Required edges come before all others, whatever their scores: edges are compared first by whether they are
required, then by score. Functions are compiled if Numba is installed, and plain Python otherwise. An edge is a
pair u < v.
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
    """Return the k best events ``(batch, k, n, n)`` and their scores ``(batch, k)``, best first (Gabow 1977).

    -1 and -inf if there are fewer than k. Time O(k n^3 + k^2) per item; O(n^2) for k = 1.
    """
    batch, n, _ = edges.shape
    events, scores = np.full((batch, k, n, n), -1, np.int64), np.full((batch, k), -np.inf)
    _run(_kbest_items, k * n, edges, absent, lengths, events, scores)
    return torch.from_numpy(events).to(edges.device), torch.from_numpy(scores).to(edges.device, edges.dtype)


def max_marginals(edges: Tensor, absent: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each edge, the best score of a tree that uses it: ``(batch, n, n)``; time O(n^2) per item.

    It is the score of the best tree, plus that of the edge, minus that of the edge it displaces; -inf if no tree
    uses the edge. The gradient is that of this sum.
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
    """Call ``items(edges, required, lengths, *out, start, step)`` by `over_batch`, in ``rounds`` n^2 time."""
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
    """Write the edges of the best tree of each item, and for each edge the edge of the tree that it displaces.

    Edges are written as places u n + v; see `_displaced`.

    Arrays: ``edges`` and ``required (batch, n, n)``, ``lengths (batch,)``, and the results ``tree (batch, n - 1)``
    and ``displaced (batch, n, n)``.
    """
    for b in range(start, edges.shape[0], step):
        n, width = lengths[b], edges.shape[1]
        _displaced(edges[b, :n, :n], required[b, :n, :n], width, tree[b], displaced[b])


@inner
def _kbest(weights: Array, required: Array, events: Array, scores: Array) -> None:
    """Write the k best trees of one item, ``events (k, n, n)``, and ``scores (k,)``.

    The trees of a part have its fixed edges, and none of its closed edges. Once the best tree of a part is
    written, its other trees are divided by the first edge of the best tree that they lack: the edges before it are
    fixed, and the edge is closed. The best tree of such a new part differs from that of the old one by an exchange
    of this edge.
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
    """Write the tree of a rank, and the fixed and closed edges of its part.

    They are those of the rank ``source``, in which edge ``place`` of the tree is exchanged for ``new_edge (2,)``.
    """
    tree[rank] = tree[source]
    fixed[rank] = fixed[source]
    closed[rank] = closed[source]
    fixed[rank, :place] = True
    closed[rank, tree[source, place, 0], tree[source, place, 1]] = True
    tree[rank, place] = new_edge


@inner
def _best_exchange(weights: Array, closed: Array, tree: Array, place: int, new_edge: Array) -> float:
    """Write the best replacement of edge ``place`` of the tree, ``new_edge (2,)``; return its gain, or -inf."""
    n = weights.shape[0]
    side = np.zeros(n, np.bool_)  # the vertices that remain connected to the first end of the edge
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
    """Write the event of a tree, the edges ``(n - 1, 2)``; return its score."""
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
    """Write the edges of the best tree, ``tree (n - 1, 2)``, in the order in which Prim's algorithm adds them.

    Return False if the graph is not connected, or no tree has all required edges.
    """
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
    """Write the best tree, ``places (n - 1,)``, and the edge that each edge displaces, ``displaced (n, n)``.

    Edge u v displaces the edge of lowest score on the path between u and v in the tree, required edges aside; -1
    if there is none. Edges of the tree displace themselves. Edges are written as ``u * width + v``. Without a
    tree, nothing is written.
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
