"""Best and k best trees: Chu-Liu/Edmonds on a dense graph, and Lawler's partition of what remains.

Scores are compared as pairs, first the number of root arcs, then the score, so that the single root is
exact: nothing is added to a score. Each function is compiled where Numba is there, and runs as plain Python
elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.jit import kernel, over_batch, thread_count

Array = npt.NDArray[Any]

UNSEEN, ON_PATH, ROOTED, INSIDE = 0, 1, 2, 3


def best(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Heads of the best tree ``(batch, n)`` and its score ``(batch,)``; time O(n^2) an item (Tarjan 1977)."""
    heads, scores = kbest(arcs, lengths, single_root, 1)
    return heads[:, 0], scores[:, 0]


def kbest(arcs: Tensor, lengths: Tensor, single_root: bool, k: int) -> tuple[Tensor, Tensor]:
    """Heads ``(batch, k, n)`` and scores ``(batch, k)``, best first; time O(k n^3) an item (Lawler 1972)."""
    batch, n, _ = arcs.shape
    heads = np.full((batch, k, n), -1, np.int64)
    scores = np.full((batch, k), -np.inf)
    given = arcs.detach().double().cpu().contiguous().numpy()
    sizes = lengths.detach().cpu().contiguous().numpy()
    scores[sizes == 0, :1] = 0.0
    if batch and n:
        over_batch(
            _kbest_items, thread_count(batch, batch * n * n * k), given, sizes, single_root, heads, scores
        )
    return torch.from_numpy(heads).to(arcs.device), torch.from_numpy(scores).to(arcs.device, arcs.dtype)


@kernel
def _kbest_items(
    arcs: Array, lengths: Array, single_root: bool, heads: Array, scores: Array, start: int, step: int
) -> None:
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n > 0:
            _kbest(arcs[b, :n, : n + 1], single_root, heads[b, :, :n], scores[b])


@kernel
def _kbest(arcs: Array, single_root: bool, heads: Array, scores: Array) -> None:
    """Each tree found splits the others by the first word whose head differs; the best of each part waits."""
    n = arcs.shape[0]
    k = heads.shape[0]
    capacity = 1 + (k - 1) * n
    found = np.empty((capacity, n), np.int64)
    score = np.full(capacity, -np.inf)
    first_free = np.zeros(capacity, np.int64)
    closed = np.zeros((capacity, n + 1), np.bool_)
    restricted = np.empty((n, n + 1))
    score[0] = _solve(arcs, single_root, found[0])
    waiting = 1
    for rank in range(k):
        top = np.argmax(score[:waiting])
        if score[top] == -np.inf:
            return
        heads[rank] = found[top]
        scores[rank] = score[top]
        score[top] = -np.inf
        if rank == k - 1:
            return
        for word in range(first_free[top], n):
            _restrict(arcs, found[top], word, restricted)
            if word == first_free[top]:
                closed[waiting] = closed[top]
            closed[waiting, found[top, word]] = True
            for h in range(n + 1):
                if closed[waiting, h]:
                    restricted[word, h] = -np.inf
            first_free[waiting] = word
            score[waiting] = _solve(restricted, single_root, found[waiting])
            waiting += 1


@kernel
def _restrict(arcs: Array, heads: Array, word: int, out: Array) -> None:
    """The scores when all words before ``word`` keep their heads."""
    out[:, :] = arcs
    for m in range(word):
        kept = out[m, heads[m]]
        out[m, :] = -np.inf
        out[m, heads[m]] = kept


@kernel
def _solve(arcs: Array, single_root: bool, heads: Array) -> float:
    """Heads of the best tree; gives its score, -inf if there is none (of one root arc, if that is asked)."""
    n = arcs.shape[0]
    graph = np.full((n + 1, n + 1), -np.inf)
    graph[1:, :] = arcs
    if not _greedy(graph, single_root, heads) and not _contract_cycles(graph, single_root, heads):
        return -np.inf
    total = 0.0
    roots = 0
    for m in range(n):
        total += arcs[m, heads[m]]
        roots += heads[m] == 0
    return total if roots == 1 or not single_root else -np.inf


@kernel
def _greedy(graph: Array, single_root: bool, heads: Array) -> bool:
    """The best head of each word on its own; whether that already is the answer."""
    n = heads.shape[0]
    roots = 0
    for m in range(1, n + 1):
        best_head = -1
        for h in range(n + 1):
            if h != m and graph[m, h] > -np.inf and (best_head < 0 or graph[m, h] > graph[m, best_head]):
                best_head = h
        if best_head < 0:
            return False
        heads[m - 1] = best_head
        roots += best_head == 0
    if single_root and roots != 1:
        return False
    seen = np.zeros(n + 1, np.int64)
    for m in range(1, n + 1):
        node = m
        while node != 0 and seen[node] == 0:
            seen[node] = m
            node = heads[node - 1]
        if node != 0 and seen[node] == m:
            return False
    return True


@kernel
def _contract_cycles(graph: Array, single_root: bool, heads: Array) -> bool:
    """Chu-Liu/Edmonds: follow best heads; where they close a cycle, make it one node; unfold at the end.

    ``graph[m, h]`` scores node h as head of node m; ``roots`` counts root arcs beside it. Contracted nodes
    reuse the row and column of a member, and get a number of their own in ``parent``, the forest of cycles.
    """
    size = graph.shape[0]
    roots = np.zeros((size, size), np.int64)
    if single_root:
        roots[1:, 0] = 1
    word = np.empty((size, size), np.int64)
    head = np.empty((size, size), np.int64)
    for m in range(size):
        for h in range(size):
            word[m, h] = m
            head[m, h] = h
    state = np.zeros(size, np.int64)
    state[0] = ROOTED
    number = np.arange(size)
    parent = np.full(2 * size, -1, np.int64)
    entering = np.zeros((2 * size, 2), np.int64)
    path = np.empty(size, np.int64)
    count = size
    for begin in range(1, size):
        if state[begin] != UNSEEN:
            continue
        path[0] = begin
        depth = 1
        state[begin] = ON_PATH
        while True:
            node = path[depth - 1]
            above = _best_head(graph, roots, state, node)
            if above < 0:
                return False
            entering[number[node], 0] = word[node, above]
            entering[number[node], 1] = head[node, above]
            if state[above] == ROOTED:
                break
            if state[above] == UNSEEN:
                state[above] = ON_PATH
                path[depth] = above
                depth += 1
                continue
            low = depth - 1
            while path[low] != above:
                low -= 1
            _contract(graph, roots, word, head, state, number, parent, path[low:depth], count)
            count += 1
            depth = low + 1
        for i in range(depth):
            state[path[i]] = ROOTED
    _unfold(parent, entering, count, size, heads)
    return True


@kernel
def _better(graph: Array, roots: Array, m: int, h: int, best_m: int, best_h: int) -> bool:
    """Whether arc (m, h) is allowed and has fewer root arcs, or as many and a higher score; -1: any is better."""
    if graph[m, h] == -np.inf:
        return False
    if best_m < 0 or best_h < 0 or roots[m, h] < roots[best_m, best_h]:
        return True
    return roots[m, h] == roots[best_m, best_h] and graph[m, h] > graph[best_m, best_h]  # type: ignore[no-any-return]


@kernel
def _best_head(graph: Array, roots: Array, state: Array, node: int) -> int:
    """The best head of a node; -1 if all are forbidden."""
    best_head = -1
    for h in range(graph.shape[0]):
        if h != node and state[h] != INSIDE and _better(graph, roots, node, h, node, best_head):
            best_head = h
    return best_head


@kernel
def _contract(
    graph: Array, roots: Array, word: Array, head: Array, state: Array, number: Array, parent: Array,
    cycle: Array, name: int,
) -> None:  # fmt: skip
    """Make the nodes of a cycle one, in the place of its first; arcs into it count what they displace.

    What they displace is never a root arc, so that numbers of root arcs stay as they are.
    """
    size = graph.shape[0]
    length = cycle.shape[0]
    kept = cycle[0]
    lost_score = np.empty(length)
    for i in range(length):
        above = cycle[(i + 1) % length]
        lost_score[i] = graph[cycle[i], above]
        parent[number[cycle[i]]] = name
    for i in range(1, length):
        state[cycle[i]] = INSIDE
    for other in range(size):
        if state[other] == INSIDE or other == kept:
            continue
        into, out_of = -1, -1
        for i in range(length):
            node = cycle[i]
            graph[node, other] -= lost_score[i]
            if _better(graph, roots, node, other, into, other):
                into = node
            if _better(graph, roots, other, node, other, out_of):
                out_of = node
        _copy_arc(graph, roots, word, head, into, other, kept, other)
        _copy_arc(graph, roots, word, head, other, out_of, other, kept)
    number[kept] = name


@kernel
def _copy_arc(
    graph: Array, roots: Array, word: Array, head: Array, from_m: int, from_h: int, to_m: int, to_h: int
) -> None:
    """Overwrite one arc by another; a source of -1 forbids it."""
    if from_m < 0 or from_h < 0:
        graph[to_m, to_h] = -np.inf
        return
    graph[to_m, to_h] = graph[from_m, from_h]
    roots[to_m, to_h] = roots[from_m, from_h]
    word[to_m, to_h] = word[from_m, from_h]
    head[to_m, to_h] = head[from_m, from_h]


@kernel
def _unfold(parent: Array, entering: Array, count: int, size: int, heads: Array) -> None:
    """Give each cycle the arc that enters it, which displaces one of its own; last contracted first."""
    for name in range(count - 1, size - 1, -1):
        node = entering[name, 0]
        while parent[node] != name:
            node = parent[node]
        entering[node, 0] = entering[name, 0]
        entering[node, 1] = entering[name, 1]
    for m in range(1, size):
        heads[m - 1] = entering[m, 1]
