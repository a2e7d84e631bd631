"""Max-marginals of non-projective trees, compiled: see `max_marginals` for the algorithm and its proof."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.non_projective_tree.chu_liu_edmonds import best_tree, make_nodes
from strukt.structures.non_projective_tree.halves import (
    COUNT,
    FIRST,
    KEPT,
    PARENT,
    copy_down,
    matrix,
    plan,
    word_at,
)
from strukt.structures.non_projective_tree.max_marginals import ROOTS


@kernel
def fill(
    arcs: Array, lengths: Array, single_root: bool, out: Array, start: int, step: int
) -> None:
    """Write, for each arc, the best score of a tree with it to ``out``, which must be -inf before.

    Arrays: ``arcs`` and ``out (batch, n, n + 1)``, and ``lengths (batch,)``.
    """
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n > 0:
            _item(arcs[b, :n, : n + 1], single_root, out[b, :n, : n + 1])


@inner
def _item(arcs: Array, single_root: bool, out: Array) -> None:
    """Write the max-marginals of one item; ``arcs`` and ``out`` are ``(n, n + 1)``."""
    n = arcs.shape[0]
    best, _ = best_tree(arcs, np.ones((n, n + 1), np.bool_), single_root, make_nodes(n), np.empty(n, np.int64))
    if best == -np.inf:
        return
    blocks, size = plan(n, ROOTS)
    flat, reached = np.empty(size), np.full((ROOTS, n, n), -np.inf)
    whole = matrix(flat, blocks[0], ROOTS)
    counted = 1 if single_root else 0
    for m in range(n):
        whole[m, 1 - counted], whole[m, counted] = -np.inf, arcs[m, 0]
        for h in range(n):
            whole[m, ROOTS + h] = arcs[m, h + 1] if h != m else -np.inf
    lowest = counted
    for b in range(1, blocks.shape[0]):
        parent, weights = blocks[blocks[b, PARENT]], matrix(flat, blocks[b], ROOTS)
        copy_down(matrix(flat, parent, ROOTS), parent, blocks[b], ROOTS, weights)
        if _eliminate(weights, blocks[b, KEPT]):
            lowest = 0
    for b in range(blocks.shape[0] - 1, 0, -1):
        for order in range(lowest, counted + 1):
            _substitute(matrix(flat, blocks[b], ROOTS), blocks[b], order, reached[order])
    for m in range(n):
        top = -np.inf
        for order in range(lowest, counted + 1):
            if top == -np.inf:
                top = _through(arcs[m], reached[order], m, order == counted, out[m])
        for h in range(n + 1):
            out[m, h] = best + (out[m, h] - top)


@inner
def _eliminate(weights: Array, kept: int) -> bool:
    """Eliminate all words of a block but the first ``kept``; return True if one of them has no head but the root.

    Only words with a root of order 1 count, those of trees with a single root.
    """
    sure = False
    for k in range(weights.shape[0] - 1, kept - 1, -1):
        row = weights[k, : ROOTS + k]
        pivot = row[0]
        for j in range(ROOTS, ROOTS + k):
            pivot = max(pivot, row[j])
        if pivot > -np.inf:
            for j in range(ROOTS + k):
                row[j] -= pivot
        elif row[1] > -np.inf:
            row[0], row[1] = 0.0, -np.inf
            sure = True
        for i in range(k):
            _raise(weights[i, : ROOTS + k], weights[i, ROOTS + k], row)
    return sure


@inner
def _substitute(shares: Array, block: Array, order: int, reached: Array) -> None:
    """Write P_m(k) of one order to ``reached[k, m]``, for the words k that a block eliminated and m that it keeps.

    ``shares`` is the block's matrix after the elimination; ``reached`` is ``(n, n)``.
    """
    kept, first = block[KEPT], block[FIRST]
    for i in range(kept, kept + block[COUNT]):
        target = reached[word_at(block, i), first : first + kept]
        target[:] = shares[i, order]
        for j in range(i):
            _raise(target, shares[i, ROOTS + j], reached[word_at(block, j), first : first + kept])


@inner
def _raise(target: Array, by: float, source: Array) -> None:
    """Raise each number of ``target`` to ``by`` plus that of ``source``, if that is larger."""
    if by > -np.inf:
        for j in range(target.shape[0]):
            target[j] = max(target[j], by + source[j])


@inner
def _through(scores: Array, reached: Array, m: int, rooted: bool, out: Array) -> float:
    """Write the score of each head h of word m plus P_m(h) to ``out (n + 1,)``; return the maximum.

    The root, whose P_m is 0, counts only if ``rooted``; without it, its entry is -inf.
    """
    out[0] = scores[0] if rooted else -np.inf
    top = out[0]
    for h in range(reached.shape[0]):
        out[h + 1] = scores[h + 1] + reached[h, m] if h != m else -np.inf
        top = max(top, out[h + 1])
    return top  # type: ignore[no-any-return]
