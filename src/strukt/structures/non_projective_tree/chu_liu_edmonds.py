"""Chu-Liu/Edmonds: the best arborescence of a dense graph, by following best heads and contracting cycles.

Chu and Liu (1965) and Edmonds (1967), in the order of Tarjan (1977), in which a path of best heads grows until it
reaches the root. Only the rows of words are merged, never the columns of heads, so that the alternatives to the
best head of a node remain available.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, scratch, write

UNSEEN, ON_PATH, ROOTED = 0, 1, 2
"""The states of a node: not reached yet, on the current path of best heads, or on a path that reaches the root."""


class Nodes(NamedTuple):
    """The nodes of the contraction: node 0 is the root, 1 to n are words, and each contracted cycle adds one.

    Attributes:
        scores: ``(2 n, n + 1)``; ``[v, h]`` is the score of head h for a word v; for a cycle v, the gain from
            giving a word of v the head h in place of a head chosen inside v. It is -inf if h lies in v.
        words: ``(2 n, n + 1)``; ``[v, h]`` is the word in v that would have head h.
        chosen: ``(2 n,)``, the best head of each node, the root or a word.
        parent: ``(2 n,)``, the contracted cycle of which each node is a member; 0 if none.
    """

    scores: Array
    words: Array
    chosen: Array
    parent: Array


@inner
def make_nodes(n: int) -> Nodes:
    """Allocate the nodes of n words."""
    words = np.zeros((2 * n, n + 1), np.int64)
    return Nodes(scratch(2 * n, n + 1), words, np.zeros(2 * n, np.int64), np.zeros(2 * n, np.int64))


@inner
def best_tree(
    arcs: Array, allowed: Array, single_root: bool, nodes: Nodes, heads: Array
) -> tuple[float, int]:
    """Write the heads of the best allowed tree; return its score, -inf if there is none, and the number of nodes.

    The number of nodes is 0 if a node has no head. With a single root, a node's head is the root only if it has no
    other head. No penalty is added to any score.

    Arrays: ``arcs (n, n + 1)``, the mask ``allowed (n, n + 1)`` of arcs, and the result ``heads (n,)``.
    """
    _load(arcs, allowed, nodes)
    count = _contract(single_root, nodes)
    if count == 0:
        return -np.inf, 0
    _unfold(nodes, count, heads)
    total, roots = 0.0, 0
    for m in range(heads.shape[0]):
        total += arcs[m, heads[m]]
        roots += int(heads[m] == 0)
    return total if roots == 1 or not single_root else -np.inf, count


@inner
def _load(arcs: Array, allowed: Array, nodes: Nodes) -> None:
    """Write the scores of allowed arcs to the nodes of words, -inf for other arcs."""
    nodes.parent[:] = 0
    for m in range(arcs.shape[0]):
        nodes.words[m + 1, :] = m + 1
        for h in range(arcs.shape[1]):
            nodes.scores[m + 1, h] = arcs[m, h] if allowed[m, h] else -np.inf
        nodes.scores[m + 1, m + 1] = -np.inf


@inner
def _contract(single_root: bool, nodes: Nodes) -> int:
    """Choose a head for each node, and contract cycles; return the number of nodes, 0 if a node has no head.

    The number includes the root and the contracted cycles.
    """
    size = nodes.scores.shape[1]
    count = int(size)
    owner, path = np.arange(size), np.empty(size, np.int64)
    state = np.full(nodes.parent.shape[0], UNSEEN)
    state[0] = ROOTED
    for word in range(1, size):
        path[0] = owner[word]
        depth = int(state[path[0]] == UNSEEN)
        while depth > 0:
            node = path[depth - 1]
            state[node] = ON_PATH
            head = _best_head(nodes.scores[node], single_root)
            if head < 0:
                return 0
            nodes.chosen[node] = head
            above = owner[head]
            if state[above] == UNSEEN:
                path[depth] = above
                depth += 1
            elif state[above] == ON_PATH:
                low = depth - 1
                while path[low] != above:
                    low -= 1
                _merge(nodes, path[low:depth], count, owner)
                path[low] = count
                depth = low + 1
                count += 1
            else:
                for i in range(depth):
                    state[path[i]] = ROOTED
                depth = 0
    return count


@inner
def _best_head(scores: Array, single_root: bool) -> int:
    """Return a node's best head, -1 for none; with a single root, the root only if no other head is possible."""
    head, top = -1, -np.inf
    for h in range(int(single_root), scores.shape[0]):
        if scores[h] > top:
            head, top = h, scores[h]
    if head < 0 and scores[0] > -np.inf:
        return 0
    return head


@inner
def _merge(nodes: Nodes, cycle: Array, name: int, owner: Array) -> None:
    """Contract the nodes of ``cycle`` into the node ``name``; update ``owner``, the outermost node of each word.

    A head of the new node displaces the head that one of the members has chosen.
    """
    scores, words = nodes.scores[name], nodes.words[name]
    scores[:] = -np.inf
    for i in range(cycle.shape[0]):
        node = cycle[i]
        nodes.parent[node] = name
        loss = nodes.scores[node, nodes.chosen[node]]
        for h in range(scores.shape[0]):
            better = nodes.scores[node, h] - loss > scores[h]
            scores[h] = nodes.scores[node, h] - loss if better else scores[h]
            words[h] = nodes.words[node, h] if better else words[h]
    for h in range(1, scores.shape[0]):
        if nodes.parent[owner[h]] == name:
            owner[h] = name
            scores[h] = -np.inf


@inner
def _unfold(nodes: Nodes, count: int, heads: Array) -> None:
    """Write the heads of words: each cycle, the last contracted one first, passes its head to one member."""
    chosen = nodes.chosen.copy()
    for name in range(count - 1, heads.shape[0], -1):
        node = nodes.words[name, chosen[name]]
        while nodes.parent[node] != name:
            node = nodes.parent[node]
        chosen[node] = chosen[name]
    write(heads, chosen[1 : heads.shape[0] + 1])
