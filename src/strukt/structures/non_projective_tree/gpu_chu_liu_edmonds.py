"""Chu-Liu/Edmonds in Triton: the best tree of each item, found by one program as `chu_liu_edmonds` describes.

Vectors over nodes are kept in registers. Only the rows of contracted cycles are in memory: ``scores (n, n + 1)``
in float64, and ``words (n, n + 1)``. Ties are broken as on the CPU.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.structures.non_projective_tree.chu_liu_edmonds import ON_PATH, ROOTED, UNSEEN
from strukt.structures.non_projective_tree.gpu_wilson import entry

NEW, PATH, DONE = tl.constexpr(UNSEEN), tl.constexpr(ON_PATH), tl.constexpr(ROOTED)


@triton.jit
def row_of(arcs, scores, node, length, width, h):
    """Return the scores of a node's heads ``h``, an array from 0 to B - 1; -inf where there is no arc."""
    is_word = node <= length
    live = h <= tl.where(is_word, length, -1)
    row = tl.load(arcs + (node - 1) * width + h, live & (h != node), float("-inf")).to(tl.float64)
    cycle = tl.load(scores + (node - length - 1) * width + h, h <= tl.where(is_word, -1, length), float("-inf"))
    return tl.where(live, row, cycle)


@triton.jit
def words_of(words, node, length, width, h):
    """Return, for each head of ``h``, the word in a node that would have this head."""
    word = tl.load(words + (node - length - 1) * width + h, h <= tl.where(node <= length, -1, length), 0)
    return tl.where(node <= length, node, word)


@triton.jit
def best_head(row, h, SINGLE: tl.constexpr, B: tl.constexpr):
    """Return the head with the best score in ``row (B,)``, the first in case of ties; B if all are -inf.

    If SINGLE, return the root only if no other head is possible.
    """
    others = row
    if SINGLE:
        others = tl.where(h == 0, float("-inf"), row)
        others = tl.where(tl.max(others, 0) > float("-inf"), others, row)
    top = tl.max(others, 0)
    return tl.min(tl.where((others == top) & (others > float("-inf")), h, B), 0)


@triton.jit
def merge(
    arcs, scores, words, path, low, depth, chosen, parent, owner, name, length, width, h, B: tl.constexpr,
    D: tl.constexpr,
):  # fmt: skip
    """Contract the nodes ``low`` to ``depth - 1`` of a path, a cycle, into the node ``name``.

    Return the new parents of nodes, and the new owners of words. Store the scores and words of the new node.
    """
    nodes = tl.arange(0, D)
    best, entered = tl.full([B], float("-inf"), tl.float64), tl.zeros([B], tl.int32)
    for i in range(low, depth):
        node = entry(path, i, D)
        parent = tl.where(nodes == node, name, parent)
        owner = tl.where(owner == node, name, owner)
        row = row_of(arcs, scores, node, length, width, h)
        gain = row - entry(row, entry(chosen, node, D), B)
        better = gain > best
        best = tl.where(better, gain, best)
        entered = tl.where(better, words_of(words, node, length, width, h), entered)
    place = (name - length - 1) * width + h
    tl.store(scores + place, tl.where(owner == name, float("-inf"), best), h <= length)
    tl.store(words + place, entered, h <= length)
    barrier()
    return parent, owner


@triton.jit
def contract(arcs, scores, words, length, width, SINGLE: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    """Choose a head for each node, and contract cycles.

    Return the heads of nodes, their parents, and the number of nodes with the root; 0 if a node has no head.
    """
    h, nodes = tl.arange(0, B), tl.arange(0, D)
    owner = h
    path, chosen, parent = tl.zeros([D], tl.int32), tl.zeros([D], tl.int32), tl.zeros([D], tl.int32)
    state = tl.where(nodes == 0, DONE, NEW)
    count, possible = length + 1, length >= 0
    for word in range(1, length + 1):
        first = entry(owner, word, B)
        path = tl.where(nodes == 0, first, path)
        depth = tl.where(possible & (entry(state, first, D) == NEW), 1, 0)
        while depth > 0:
            node = entry(path, depth - 1, D)
            state = tl.where(nodes == node, PATH, state)
            head = best_head(row_of(arcs, scores, node, length, width, h), h, SINGLE, B)
            chosen = tl.where(nodes == node, head, chosen)
            above = entry(owner, head, B)
            met = tl.where(head < B, entry(state, above, D), -1)
            if met == NEW:
                path = tl.where(nodes == depth, above, path)
                depth += 1
            elif met == PATH:
                low = tl.min(tl.where((path == above) & (nodes < depth), nodes, D), 0)
                parent, owner = merge(
                    arcs, scores, words, path, low, depth, chosen, parent, owner, count, length, width, h, B, D
                )
                path = tl.where(nodes == low, count, path)
                depth = low + 1
                count += 1
            else:
                possible = possible & (met == DONE)
                for i in range(depth):
                    state = tl.where(nodes == entry(path, i, D), DONE, state)
                depth = depth * 0
    return chosen, parent, tl.where(possible, count, 0)


@triton.jit(do_not_specialize=["n"])
def best(
    arcs, lengths, scores, words, heads, best_scores, n, SINGLE: tl.constexpr, B: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """Write the heads of the best tree of each item, and its score, -inf if there is none.

    Args:
        arcs: ``(batch, n, n + 1)``.
        lengths: ``(batch,)``.
        scores, words: Workspace ``(batch, n, n + 1)``, in float64 and int32.
        heads: ``(batch, n)``; -1 in the padding, and if there is no tree.
        best_scores: ``(batch,)``, the scores.
        n: The number of words.
        SINGLE: Whether exactly one word depends on the root.
        B: A power of two above n.
        D: Twice B.
    """
    item, width = tl.program_id(0).to(tl.int64), n + 1
    arcs += item * n * width
    scores += item * n * width
    words += item * n * width
    length, nodes = tl.load(lengths + item).to(tl.int32), tl.arange(0, D)
    chosen, parent, count = contract(arcs, scores, words, length, width, SINGLE, B, D)
    for i in range(count - 1 - length):
        name = count - 1 - i
        head = entry(chosen, name, D)
        node = tl.load(words + (name - length - 1) * width + head)
        while entry(parent, node, D) != name:
            node = entry(parent, node, D)
        chosen = tl.where(nodes == node, head, chosen)
    within = (nodes > 0) & (nodes <= tl.where(count > 0, length, 0))
    total = tl.load(arcs + (nodes - 1) * width + chosen, within, 0.0).to(tl.float64)
    roots = tl.sum((within & (chosen == 0)).to(tl.int32), 0)
    possible = count > 0
    if SINGLE:
        possible = possible & ((roots == 1) | (length == 0))
    result = tl.where(possible, tl.sum(total, 0), float("-inf"))
    tl.store(best_scores + item, result.to(best_scores.dtype.element_ty))
    chosen = tl.where(within & possible, chosen, -1)
    tl.store(heads + item * n + nodes - 1, chosen.to(tl.int64), (nodes > 0) & (nodes <= n))
