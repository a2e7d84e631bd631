"""Prim's algorithm in Triton: the best spanning tree of each item, if no edge is required.

One program computes an item. It keeps in registers the best edge from the tree to each vertex; once the vertex
joins the tree, this is the edge that it joined by. Ties are broken as in `prim`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.structures.non_projective_tree.gpu_wilson import entry


@triton.jit
def edges_of(edges, u, n, length, B: tl.constexpr):
    """Return the scores of the edges between vertex u and all vertices, ``(B,)``; -inf for u and padding."""
    v = tl.arange(0, B)
    place = tl.minimum(u, v) * n + tl.maximum(u, v)
    return tl.load(edges + place, (v < length) & (v != u), float("-inf")).to(tl.float64)


@triton.jit(do_not_specialize=["n"])
def best(edges, lengths, events, best_scores, n, B: tl.constexpr):
    """Write the edges of the best tree of each item, and its score.

    Args:
        edges: ``(batch, n, n)``, of which the upper triangle is read.
        lengths: ``(batch,)``.
        events: ``(batch, n, n)``, the trees, written; -1 if the item's graph is not connected.
        best_scores: ``(batch,)``, the scores, written; -inf if the item's graph is not connected.
        n: The number of vertices.
        B: A power of two of at least n.
    """
    item, v = tl.program_id(0).to(tl.int64), tl.arange(0, B)
    edges += item * n * n
    events += item * n * n
    length = tl.load(lengths + item).to(tl.int32)
    near, joined = tl.zeros([B], tl.int32), v == 0
    score, total = edges_of(edges, length * 0, n, length, B), tl.full([], 0.0, tl.float64)
    for _ in range(length - 1):
        open_scores = tl.where(joined, float("-inf"), score)
        top = tl.max(open_scores, 0)
        total += top
        new = tl.min(tl.where((open_scores == top) & (joined == 0), v, n - 1), 0)
        joined = joined | (v == new)
        row = edges_of(edges, new, n, length, B)
        better = (row > score) & (joined == 0)
        near, score = tl.where(better, new, near), tl.where(better, row, score)
    tl.store(best_scores + item, total.to(best_scores.dtype.element_ty))
    for u in range(n):
        used = (near == u) | (v == entry(near, u, B))
        real = (v > u) & (v < tl.where(total > float("-inf"), length, 0))
        tl.store(events + u * n + v, tl.where(real, used.to(tl.int64), -1), v < n)
