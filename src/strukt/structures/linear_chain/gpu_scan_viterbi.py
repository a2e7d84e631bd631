"""Viterbi's algorithm for long chains in Triton, as the scan of `gpu_scan` with maxima for sums.

Once the best scores at the borders of blocks are known, all blocks find the predecessor of each tag at once. They
also carry along, for each tag, the tag before the block from which the best path to it came. So a walk from block
to block finds the tags at borders, and then the walks within blocks run at once. Every step breaks ties by the
first tag, as in `gpu_viterbi.walk`; the maximum of a product would break them by the first tag at the border.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.structures.linear_chain.gpu_scan import block_of, matrix_at, pairs_into, tags_at
from strukt.structures.linear_chain.gpu_weights import finite, tags_if


@triton.jit
def multiply_blocks(
    unary, transition, group_step, step, lengths, sharing, products, n, c, blocks, PER_STEP: tl.constexpr,
    C: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Write the best score of a path through each block, ``(batch, blocks, c, c)`` in float64.

    The grid of programs and the arguments are those of `gpu_scan.multiply_blocks`. While it runs, the scores of a
    row are kept relative to the best of them.
    """
    item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length, first, last = block_of(lengths, item, block, SIZE)
    unary += item * n * c
    transition += item // sharing * group_step
    row, tag = tl.program_id(2) * ROWS + tl.arange(0, ROWS), tl.arange(0, C)
    best = tl.where(row[:, None] == tag[None, :], 0.0, float("-inf")).to(unary.dtype.element_ty)
    tops = tl.zeros([ROWS, C], tl.float64)
    score = tags_at(unary, first, last, tag, c)
    if PER_STEP:
        following = pairs_into(transition, step, first, last, tag, c, c, 1)
    else:
        pairs = matrix_at(transition, length > 1, tag, c, c, 1, float("-inf"))
    for t in range(first, last):
        weight = score
        score = tags_at(unary, t + 1, last, tag, c)
        if PER_STEP:
            pairs = following
            following = pairs_into(transition, step, t + 1, last, tag, c, c, 1)
        if t > 0:
            before = tl.broadcast_to(tl.trans(best)[:, :, None], [C, ROWS, C])
            top = finite(tl.max(before, 0))
            best = tl.max(before + pairs[:, None, :], 0) - top
            tops += top.to(tl.float64)
        best += weight[None, :]
    place = ((item * blocks + block) * c + row[:, None]) * c + tag[None, :]
    tl.store(products + place, best.to(tl.float64) + tops, (row < c)[:, None] & (tag < c)[None, :])


@triton.jit
def sweep(products, lengths, borders, best_scores, lasts, c, blocks, C: tl.constexpr, SIZE: tl.constexpr):
    """Write the best scores at the borders of blocks, and the best score and the last tag of each item.

    Args:
        products: As `multiply_blocks` writes them.
        lengths: ``(batch,)``.
        borders: ``(batch, blocks, c)``, the best score of a path to each tag at the last position before a block,
            relative to the best of them, in float64.
        best_scores, lasts: ``(batch,)``, the best score and the last tag.
        c, blocks, C, SIZE: As in `gpu_scan`.
    """
    item, tag = tl.program_id(0).to(tl.int64), tl.arange(0, C)
    length = tl.load(lengths + item).to(tl.int32)
    count = (length + SIZE - 1) // SIZE
    products += item * blocks * c * c
    borders += item * blocks * c
    best, total = tl.where(tag < c, 0.0, float("-inf")).to(tl.float64), tl.zeros([1], tl.float64)
    ways = matrix_at(products, count > 0, tag, c, c, 1, float("-inf"))
    for block in range(count):
        tl.store(borders + block * c + tag, best, tag < c)
        products += c * c
        best = tl.max(best[:, None] + ways, 0)
        ways = matrix_at(products, block + 1 < count, tag, c, c, 1, float("-inf"))
        top = finite(tl.max(best, 0))
        best -= top
        total += top
    score, last = tl.max(best, 0, return_indices=True)
    score = tl.where(length > 0, total + score, 0.0)
    tl.store(best_scores + item + tl.zeros([1], tl.int32), score.to(best_scores.dtype.element_ty))
    tl.store(lasts + item, tl.minimum(last, c - 1))  # NaN may lead to the padding


@triton.jit
def inside(
    unary, transition, group_step, step, lengths, sharing, borders, choices, origins, n, c, blocks,
    PER_STEP: tl.constexpr, C: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Write the best predecessor of each tag, and the tag before the block on the best path to each last tag.

    The grid of programs is (items, blocks).

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        borders: As `sweep` writes them.
        choices: ``(batch, n, c)`` in int8, the best predecessor of each tag.
        origins: ``(batch, blocks, c)``, the tag before the block on the best path to each tag at its last
            position.
        n, c, blocks, PER_STEP, C, SIZE: As in `gpu_scan`.
    """
    item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length, first, last = block_of(lengths, item, block, SIZE)
    unary += item * n * c
    choices += item * n * c
    transition += item // sharing * group_step
    tag, place = tl.arange(0, C), (item * blocks + block) * c
    best = tl.load(borders + place + tag, tags_if(first < last, tag, c), float("-inf"))
    best, origin = best.to(unary.dtype.element_ty), tag
    score = tags_at(unary, first, last, tag, c)
    if PER_STEP:
        following = pairs_into(transition, step, first, last, tag, c, c, 1)
    else:
        pairs = matrix_at(transition, length > 1, tag, c, c, 1, float("-inf"))
    for t in range(first, last):
        weight = score
        score = tags_at(unary, t + 1, last, tag, c)
        if PER_STEP:
            pairs = following
            following = pairs_into(transition, step, t + 1, last, tag, c, c, 1)
        if t > 0:
            top = finite(tl.max(best, 0))
            best, chosen = tl.max(best[:, None] + pairs, 0, return_indices=True)
            chosen = tl.minimum(chosen, c - 1)  # NaN may lead to the padding
            origin = tl.sum(tl.where(tag[:, None] == chosen[None, :], origin[:, None], 0), 0)
            best -= top
            tl.store(choices + t * c + tag, chosen.to(tl.int8), tag < c)
        best += weight
    tl.store(origins + place + tag, origin, tag < c)


@triton.jit
def walk_borders(lengths, lasts, origins, ends, c, blocks, SIZE: tl.constexpr):
    """Write the best tag at the last position of each block, ``ends (batch, blocks)``; one program per item."""
    item = tl.program_id(0).to(tl.int64)
    length, tag = tl.load(lengths + item).to(tl.int32), tl.load(lasts + item)
    count = (length + SIZE - 1) // SIZE
    origins += item * blocks * c
    for back in range(count):
        block = count - 1 - back
        tl.store(ends + item * blocks + block, tag)
        tag = tl.load(origins + block * c + tag)


@triton.jit
def walk(lengths, best_scores, choices, ends, tags, n, c, blocks, SIZE: tl.constexpr):
    """Write the best tags of each block to ``tags (batch, n)``; -1 in the padding, and if there is no sequence.

    The grid of programs is (items, blocks). See `inside` and `walk_borders` for the other arguments.
    """
    item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length, first, last = block_of(lengths, item, block, SIZE)
    length = tl.where(tl.load(best_scores + item) > float("-inf"), length, 0)
    last = tl.minimum(last, length)
    choices += item * n * c
    tags += item * n
    place = first + tl.arange(0, SIZE)
    tl.store(tags + place, tl.full([SIZE], -1, tl.int64), (place >= length) & (place < n))
    chosen = tl.load(ends + item * blocks + block, first < last, 0)
    for back in range(last - first):
        t = last - 1 - back
        tl.store(tags + t, chosen.to(tl.int64))
        chosen = tl.load(choices + t * c + chosen, t > first, 0).to(tl.int32)
