"""Best and k best arborescences (Chu-Liu/Edmonds); compiled if Numba is installed, else plain Python.

The k best trees are found by the method of Camerini, Fratta and Maffioli (1980; for parsing Zmigrod et al. 2021).
The set of trees is partitioned; the best tree of each part is known, and its second best is queued. The best
queued tree comes next. Its part is divided by an arc that the part's best tree has and the second best lacks: into
the trees with this arc and those without it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, over_batch, thread_count
from strukt.structures.non_projective_tree.chu_liu_edmonds import Nodes, best_tree, make_nodes


def best(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return the heads of a best tree ``(batch, n)`` and its score ``(batch,)``; time O(n^2) (Tarjan 1977)."""
    heads, scores = kbest(arcs, lengths, single_root, 1)
    return heads[:, 0], scores[:, 0]


def kbest(arcs: Tensor, lengths: Tensor, single_root: bool, k: int) -> tuple[Tensor, Tensor]:
    """Return the heads of the k best trees ``(batch, k, n)`` and their scores ``(batch, k)``, best first.

    -1 in the padding; -1 and -inf if there are fewer than k. Time O(k n^2 + k^2) per item.
    """
    batch, n, _ = arcs.shape
    heads = np.full((batch, k, n), -1, np.int64)
    scores = np.full((batch, k), -np.inf)
    sizes = lengths.cpu()
    scores[sizes.numpy() == 0, :1] = 0.0
    if batch and n:
        threads = thread_count(batch, batch * n * n * k)
        over_batch(_kbest_items, threads, arcs.double().cpu(), sizes, single_root, heads, scores)
    return torch.from_numpy(heads).to(arcs.device), torch.from_numpy(scores).to(arcs.device, arcs.dtype)


@kernel
def _kbest_items(
    arcs: Array, lengths: Array, single_root: bool, heads: Array, scores: Array, start: int, step: int
) -> None:
    """Write the k best trees of each item and their scores; missing ones, and empty items, are not written.

    Arrays: ``arcs (batch, n, n + 1)``, ``lengths (batch,)``, and the results ``heads (batch, k, n)`` and ``scores
    (batch, k)``.
    """
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n > 0:
            _kbest(arcs[b, :n, : n + 1], single_root, heads[b, :, :n], scores[b])


@inner
def _kbest(arcs: Array, single_root: bool, heads: Array, scores: Array) -> None:
    """Write the k best trees of one item, ``heads (k, n)``, and ``scores (k,)``.

    Part r of the set of trees has the tree of rank r as its best; its second best tree is row r of ``waiting``.
    """
    k, n = heads.shape
    allowed, nodes = np.ones((k, n, n + 1), np.bool_), make_nodes(n)
    waiting, values, changed = np.empty((k, n), np.int64), np.full(k, -np.inf), np.empty(k, np.int64)
    values[0], _ = best_tree(arcs, allowed[0], single_root, nodes, waiting[0])
    part = 0
    for rank in range(k):
        if values[part] == -np.inf:
            return
        heads[rank], scores[rank] = waiting[part], values[part]
        if rank == k - 1:
            return
        if rank > 0:
            _divide(allowed, heads[part], changed[part], part, rank)
            values[part], changed[part] = _second_best(
                arcs, allowed[part], single_root, nodes, heads[part], waiting[part]
            )
        values[rank], changed[rank] = _second_best(
            arcs, allowed[rank], single_root, nodes, heads[rank], waiting[rank]
        )
        part = int(np.argmax(values[: rank + 1]))


@inner
def _divide(allowed: Array, heads: Array, word: int, part: int, new: int) -> None:
    """Divide a part of the trees: in ``part``, a word keeps its head of ``heads (n,)``; in ``new`` it does not.

    ``allowed (k, n, n + 1)`` is the mask of the arcs that trees of each part may have.
    """
    allowed[new] = allowed[part]
    allowed[new, word, heads[word]] = False
    allowed[part, word] = False
    allowed[part, word, heads[word]] = True


@inner
def _second_best(
    arcs: Array, allowed: Array, single_root: bool, nodes: Nodes, heads: Array, second: Array
) -> tuple[float, int]:
    """Write the second best tree of a part, ``second (n,)``; return its score and a word whose head differs.

    They are -inf and -1 if there is none. ``allowed (n, n + 1)`` is the mask of the part's arcs, and
    ``heads (n,)`` its best tree.
    """
    _, count = best_tree(arcs, allowed, single_root, nodes, second)
    word = _cheapest_change(single_root, nodes, count, heads)
    if word < 0:
        return -np.inf, word
    allowed[word, heads[word]] = False
    score, _ = best_tree(arcs, allowed, single_root, nodes, second)
    allowed[word, heads[word]] = True
    return score, word


@inner
def _cheapest_change(single_root: bool, nodes: Nodes, count: int, heads: Array) -> int:
    """Return a word, counted from 0, whose head differs in a second best tree; -1 if there is no other tree.

    ``nodes`` and their number ``count`` are results of `best_tree`, which found the tree ``heads (n,)``. Each node
    could replace its chosen head by the best other head that is not its descendant. The least loss over all nodes
    is exact (Camerini et al. 1980), though that of a single node may not be.
    """
    n = heads.shape[0]
    below = _below(heads)
    owner, displaced = np.arange(n + 1), np.zeros(n + 1)
    least, result = np.inf, -1
    for node in range(1, count):
        if node > n:
            _join(nodes, node, owner, displaced)
        head = nodes.chosen[node]
        word = nodes.words[node, head]
        if heads[word - 1] == head:
            other = -np.inf
            for h in range(int(single_root), n + 1):
                if h != head and not below[word, h]:
                    other = max(other, nodes.scores[node, h])
            for entered in range(1, n + 1):
                if owner[entered] == node and entered != word:
                    other = max(other, nodes.scores[entered, head] - displaced[entered])
            loss = nodes.scores[node, head] - other
            if loss < least:
                least, result = loss, word - 1
    return result


@inner
def _join(nodes: Nodes, node: int, owner: Array, displaced: Array) -> None:
    """Make the contracted cycle ``node`` the owner of its words, and update ``displaced``.

    Entry w of ``displaced (n + 1,)`` is the total score of the heads that word w displaces if it becomes the word
    by which its cycle is entered. ``owner`` is ``(n + 1,)``, too; entry 0 of both is unused.
    """
    for word in range(1, owner.shape[0]):
        member = owner[word]
        if nodes.parent[member] == node:
            displaced[word] += nodes.scores[member, nodes.chosen[member]]
            owner[word] = node


@inner
def _below(heads: Array) -> Array:
    """Return a mask ``(n + 1, n + 1)``, True at ``[w, h]`` if word h is word w or a descendant of it."""
    size = heads.shape[0] + 1
    below = np.zeros((size, size), np.bool_)
    for h in range(1, size):
        above = h
        while above != 0:
            below[above, h] = True
            above = heads[above - 1]
    return below
