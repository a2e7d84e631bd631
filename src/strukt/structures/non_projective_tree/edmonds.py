"""The best tree of a dense graph: follow best heads, and contract the cycles that they close.

Chu and Liu (1965) and Edmonds (1967), in the order of Tarjan (1977), in which a path of best heads grows until it
reaches the root. Only the rows of words are merged, never the columns of heads, so that what a node could take
instead of its best head stays there to be read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import inner, kernel, scratch

Array = npt.NDArray[Any]

UNSEEN, ON_PATH, ROOTED = 0, 1, 2


class Nodes(NamedTuple):
    """The root is node 0, words are nodes 1 to n, and each cycle that was contracted is one more.

    Attributes:
        scores: ``(2 n, n + 1)``, the score of each head less that of the choices which it displaces within the
            node; -inf for its own words.
        words: ``(2 n, n + 1)``, the word of a node that takes this head.
        chosen: ``(2 n,)``, the best head of a node.
        parent: ``(2 n,)``, the node of the cycle that a node is in; 0 if it is in none.
    """

    scores: Array
    words: Array
    chosen: Array
    parent: Array


@inner
def make_nodes(n: int) -> Nodes:
    """Room for the nodes of n words."""
    words = np.zeros((2 * n, n + 1), np.int64)
    return Nodes(scratch(2 * n, n + 1), words, np.zeros(2 * n, np.int64), np.zeros(2 * n, np.int64))


@inner
def best_tree(
    arcs: Array, allowed: Array, single_root: bool, nodes: Nodes, heads: Array
) -> tuple[float, int]:
    """Heads of the best tree of allowed arcs; gives its score, -inf if there is none, and the number of nodes.

    A root arc is taken only where there is no other, if there must be a single one: nothing is added to a score.
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


@kernel
def _load(arcs: Array, allowed: Array, nodes: Nodes) -> None:
    nodes.parent[:] = 0
    for m in range(arcs.shape[0]):
        nodes.words[m + 1, :] = m + 1
        for h in range(arcs.shape[1]):
            nodes.scores[m + 1, h] = arcs[m, h] if allowed[m, h] else -np.inf
        nodes.scores[m + 1, m + 1] = -np.inf


@inner
def _contract(single_root: bool, nodes: Nodes) -> int:
    """Choose a head for each node, one more for each cycle; gives their number, 0 if a node has no head."""
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
    """The best head of a node, the root only if it must be; -1 if there is none."""
    head, top = -1, -np.inf
    for h in range(int(single_root), scores.shape[0]):
        if scores[h] > top:
            head, top = h, scores[h]
    if head < 0 and scores[0] > -np.inf:
        return 0
    return head


@kernel
def _merge(nodes: Nodes, cycle: Array, name: int, owner: Array) -> None:
    """Make a node of a cycle: a head of one of its members displaces the one that this member chose."""
    scores, words = nodes.scores[name], nodes.words[name]
    scores[:] = -np.inf
    for i in range(cycle.shape[0]):
        node = cycle[i]
        nodes.parent[node] = name
        lost = nodes.scores[node, nodes.chosen[node]]
        for h in range(scores.shape[0]):
            better = nodes.scores[node, h] - lost > scores[h]
            scores[h] = nodes.scores[node, h] - lost if better else scores[h]
            words[h] = nodes.words[node, h] if better else words[h]
    for h in range(1, scores.shape[0]):
        if nodes.parent[owner[h]] == name:
            owner[h] = name
            scores[h] = -np.inf


@inner
def _unfold(nodes: Nodes, count: int, heads: Array) -> None:
    """Give the head that each cycle chose to one of its members, which drops its own; last contracted first."""
    chosen = nodes.chosen.copy()
    for name in range(count - 1, heads.shape[0], -1):
        node = nodes.words[name, chosen[name]]
        while nodes.parent[node] != name:
            node = nodes.parent[node]
        chosen[node] = chosen[name]
    heads[:] = chosen[1 : heads.shape[0] + 1]
