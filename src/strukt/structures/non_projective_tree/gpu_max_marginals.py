"""Max-marginals of non-projective trees in Triton.

The module `strukt.structures.non_projective_tree.max_marginals` has the algorithm, and `halves` the order of
eliminations. One program computes an item.
Words beyond its length depend on the root with score 0, as in the reference, so that all items have the same
blocks. Programs work on tiles of R rows and C columns.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier, fill

NOTHING = tl.constexpr(float("-inf"))


@triton.jit
def write_whole(arcs, whole, n, length, SINGLE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """Write the block of all words, ``whole (n, 2 + n)``; the first two columns are the root, of order 0 and 1."""
    for first in range(0, n, R):
        for start in range(0, n + 2, C):
            m, j = first + tl.arange(0, R)[:, None], start + tl.arange(0, C)[None, :]
            real = (m < length) & (j <= length + 1) & (j > 1) & (j != m + 2)
            score = tl.load(arcs + m * (n + 1) + j - 1, real, NOTHING).to(tl.float64)
            root = tl.load(arcs + m * (n + 1) + j * 0, m + j * 0 < length, 0.0).to(tl.float64)
            order = (m < length).to(tl.int32) if SINGLE else m * 0
            score = tl.where(j == order, root, score)
            tl.store(whole + m * (n + 2) + j, score, (m < n) & (j < n + 2))


@triton.jit
def place_in_parent(i, kept, first, other):
    """Return the row in its parent block of a block's row i.

    There, the words that the block keeps begin at row ``first``, the others at row ``other``.
    """
    return tl.where(i < kept, first + i, other + i - kept)


@triton.jit
def copy_down(above, size_above, below, kept, size, first, other, R: tl.constexpr, C: tl.constexpr):
    """Copy the matrix ``below (size, 2 + size)`` of a block from ``above``, that of its parent.

    Words are in a different order there: see `place_in_parent`.
    """
    for begin in range(0, size, R):
        for start in range(0, size + 2, C):
            i, j = begin + tl.arange(0, R)[:, None], start + tl.arange(0, C)[None, :]
            row = place_in_parent(i, kept, first, other)
            column = tl.where(j < 2, j, 2 + place_in_parent(j - 2, kept, first, other))
            on = (i < size) & (j < size + 2)
            value = tl.load(above + row * (size_above + 2) + column, on, NOTHING)
            tl.store(below + i * (size + 2) + j, value, on)


@triton.jit
def normalise(row, k, C: tl.constexpr):
    """Subtract the best score of word k's heads from ``row``, in place: the shares of the heads.

    A root of order 1 counts only if there is no other head.
    """
    # `lone` is loaded before the reduction, which all warps wait for, because the last loop overwrites it.
    pivot, lone = tl.full([1], NOTHING, tl.float64), tl.load(row + 1 + tl.zeros([1], tl.int32))
    for start in range(0, k + 2, C):
        j = start + tl.arange(0, C)
        score = tl.load(row + j, (j < k + 2) & (j != 1), NOTHING)
        pivot = tl.maximum(pivot, tl.max(score, 0))
    forced = (pivot == NOTHING) & (lone > NOTHING)
    shift = tl.where(pivot > NOTHING, pivot, 0.0)
    for start in range(0, k + 2, C):
        j = start + tl.arange(0, C)
        score = tl.load(row + j, j < k + 2, NOTHING) - shift
        score = tl.where(forced & (j == 0), 0.0, tl.where(forced & (j == 1), NOTHING, score))
        tl.store(row + j, score, j < k + 2)


@triton.jit
def eliminate(block, kept, size, R: tl.constexpr, C: tl.constexpr):
    """Eliminate all but the first ``kept`` of the ``size`` words of a block, the last word first."""
    for step in range(size - kept):
        k, width = size - 1 - step, size + 2
        normalise(block + k * width, k, C)
        barrier()
        for first in range(0, k, R):
            for start in range(0, k + 2, C):
                i, j = first + tl.arange(0, R), start + tl.arange(0, C)
                share = tl.load(block + k * width + j, j < k + 2, NOTHING)
                into = tl.load(block + i * width + k + 2, i < k, NOTHING)
                place, on = i[:, None] * width + j[None, :], (i < k)[:, None] & (j < k + 2)[None, :]
                direct = tl.load(block + place, on, NOTHING)
                tl.store(block + place, tl.maximum(direct, into[:, None] + share[None, :]), on)
        barrier()


@triton.jit
def substitute(
    block, reached, kept, size, first, other, n, ORDER: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):  # fmt: skip
    """Write P_m(k) of one order to ``reached[k, m]``, for the words k that a block eliminated and m that it keeps.

    ``first`` and ``other`` are the first word of either kind, and ``reached`` is ``(n, n)``.
    """
    for i in range(kept, size):
        row = block + i * (size + 2)
        for start in range(0, kept, C):
            m = start + tl.arange(0, C)
            best = tl.zeros([C], tl.float64) + tl.load(row + ORDER)
            for begin in range(0, i, R):
                j = begin + tl.arange(0, R)
                share = tl.load(row + 2 + j, j < i, NOTHING)
                place = place_in_parent(j, kept, first, other)[:, None] * n + first + m[None, :]
                far = tl.load(reached + place, (j < i)[:, None] & (m < kept)[None, :], NOTHING)
                best = tl.maximum(best, tl.max(share[:, None] + far, 0))
            tl.store(reached + (other + i - kept) * n + first + m, best, m < kept)
        barrier()


@triton.jit
def through(arcs, reached, m, h, n, length, ROOTED: tl.constexpr):
    """Return the scores of heads h of words m plus P_m(h), a tile; -inf for the root unless ROOTED."""
    live = (m < length)[:, None] & (h <= length)[None, :] & (h[None, :] != m[:, None] + 1)
    if not ROOTED:
        live = live & (h > 0)[None, :]
    score = tl.load(arcs + m[:, None] * (n + 1) + h[None, :], live, NOTHING).to(tl.float64)
    far = tl.load(reached + (h[None, :] - 1) * n + m[:, None], live & (h > 0)[None, :], 0.0)
    return score + far


@triton.jit(do_not_specialize=["n"])
def max_marginals(
    arcs, lengths, trees, blocks, block_count, memory, memory_size, reached, result, n, SINGLE: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write, for each arc, the best score of a tree with it, ``result (batch, n, n + 1)``; -inf if there is none.

    Args:
        arcs: ``(batch, n, n + 1)``.
        lengths: ``(batch,)``.
        trees: ``(batch,)``, the score of the best tree, in float64.
        blocks, block_count: The blocks of `halves.plan`, transposed to ``(6, block_count)``.
        memory, memory_size: Workspace ``(batch, memory_size)`` for the matrices of the plan.
        reached: Workspace ``(batch, 2, n, n)``, P_m(k) of each order in ``[k, m]``.
        result: ``(batch, n, n + 1)``, the result.
        n: The number of words.
        SINGLE: Whether exactly one word depends on the root.
        R, C: The numbers of rows and of columns of a tile.
    """
    item = tl.program_id(0).to(tl.int64)
    arcs += item * n * (n + 1)
    result += item * n * (n + 1)
    memory += item * memory_size
    reached += item * 2 * n * n
    length, tree = tl.load(lengths + item).to(tl.int32), tl.load(trees + item)
    write_whole(arcs, memory, n, length, SINGLE, R, C)
    fill(reached, 2 * n * n, NOTHING, C)
    barrier()
    for b in range(1, block_count):
        first, kept = tl.load(blocks + b), tl.load(blocks + block_count + b)
        other, size = tl.load(blocks + 2 * block_count + b), kept + tl.load(blocks + 3 * block_count + b)
        offset, parent = tl.load(blocks + 4 * block_count + b), tl.load(blocks + 5 * block_count + b)
        begin, above = tl.load(blocks + parent), tl.load(blocks + 4 * block_count + parent)
        size_above = tl.load(blocks + block_count + parent) + tl.load(blocks + 3 * block_count + parent)
        block = memory + offset
        copy_down(memory + above, size_above, block, kept, size, first - begin, other - begin, R, C)
        barrier()
        eliminate(block, kept, size, R, C)
    for step in range(block_count - 1):
        b = block_count - 1 - step
        first, kept = tl.load(blocks + b), tl.load(blocks + block_count + b)
        other, size = tl.load(blocks + 2 * block_count + b), kept + tl.load(blocks + 3 * block_count + b)
        block = memory + tl.load(blocks + 4 * block_count + b)
        substitute(block, reached, kept, size, first, other, n, 0, R, C)
        if SINGLE:
            substitute(block, reached + n * n, kept, size, first, other, n, 1, R, C)
    write_best(arcs, reached, result, n, length, tree, SINGLE, R, C)


@triton.jit
def write_best(
    arcs, reached, result, n, length, tree, SINGLE: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):
    """Write, for each arc (m, h), the best score of a tree with it.

    It is the score of the best tree, ``tree``, plus s_mh + P_m(h), minus the largest such sum over the heads of m.
    Only the heads of the lowest order count; a SINGLE root is not among those of order 0.
    """
    for first in range(0, n, R):
        m = first + tl.arange(0, R)
        low, high = tl.full([R], NOTHING, tl.float64), tl.full([R], NOTHING, tl.float64)
        for start in range(0, n + 1, C):
            h = start + tl.arange(0, C)
            low = tl.maximum(low, tl.max(through(arcs, reached, m, h, n, length, not SINGLE), 1))
            if SINGLE:
                high = tl.maximum(high, tl.max(through(arcs, reached + n * n, m, h, n, length, True), 1))
        is_low = low > NOTHING
        top = tl.where(is_low, low, high)
        top = tl.where(top > NOTHING, top, 0.0)
        for start in range(0, n + 1, C):
            h = start + tl.arange(0, C)
            score = through(arcs, reached, m, h, n, length, not SINGLE)
            if SINGLE:
                other = through(arcs, reached + n * n, m, h, n, length, True)
                score = tl.where(is_low[:, None], score, other)
            place, on = m[:, None] * (n + 1) + h[None, :], (m < n)[:, None] & (h <= n)[None, :]
            score = tree + (score - top[:, None])
            tl.store(result + place, score.to(result.dtype.element_ty), on)
