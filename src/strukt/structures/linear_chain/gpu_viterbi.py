"""Viterbi's algorithm for chains in Triton: a forward pass over maxima, then a walk back along the best tags.

Back-pointers are not stored: the walk recomputes each predecessor.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.structures.linear_chain.gpu_weights import tags_if


@triton.jit
def _highest_of_both(a, b, other_a, other_b):
    """Combine two pairs of maxima."""
    return tl.maximum(a, other_a), tl.maximum(b, other_b)


@triton.jit(do_not_specialize=["column"])
def inside(
    unary, transition, group_step, step, lengths, sharing, ways, best_scores, n, c, column, PER_STEP: tl.constexpr,
    C: tl.constexpr,
):  # fmt: skip
    """Write the best score of each item to ``best_scores``, and the best score of a path to each tag to ``ways``.

    The latter is relative to the best score at the position before, which keeps it small.

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        n, c, column, PER_STEP, C: As there.
        ways: ``(batch, n, c)``.
        best_scores: ``(batch,)``.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    unary += item * n * c
    ways += item * n * c
    transition += item // sharing * group_step
    tag = tl.arange(0, C)
    place = tag[:, None] * column + tag[None, :] * c
    some = tags_if(length > 1, tag, c)
    on = some[:, None] & some[None, :]
    if not PER_STEP:
        pairs = tl.load(transition + place, on, float("-inf"))
    best = tl.load(unary + tag, tags_if(length > 0, tag, c), float("-inf"))
    tl.store(ways + tag, best, tags_if(length > 0, tag, c))
    score = tl.load(unary + c + tag, some, float("-inf"))
    tops, matrix = tl.zeros([C], tl.float64), transition
    for t in range(1, length):
        if PER_STEP:
            pairs = tl.load(matrix + place, on, float("-inf"))
            matrix += step
        before = tl.broadcast_to(best[None, :], [C, C])
        best, top = tl.reduce((before + pairs, before), 1, _highest_of_both)
        top = tl.where(top > float("-inf"), top, 0.0)
        best = (best - top) + score
        tops += top.to(tl.float64)
        tl.store(ways + t * c + tag, best, tag < c)
        score = tl.load(unary + (t + 1) * c + tag, tags_if(t + 1 < length, tag, c), float("-inf"))
    total = tl.where(length > 0, tl.max(tops, 0) + tl.max(best, 0).to(tl.float64), 0.0)
    tl.store(best_scores + item, total.to(best_scores.dtype.element_ty))


@triton.jit
def walk(transition, group_step, step, lengths, sharing, ways, best_scores, tags, n, c, C: tl.constexpr):
    """Write the best tags of each item, ``tags (batch, n)``; of tied tags the first.

    Tags are -1 in the padding, and if there is no sequence. The other arguments are those of `inside`.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    length = tl.where(tl.load(best_scores + item) > float("-inf"), length, 0)
    ways += item * n * c
    tags += item * n
    transition += item // sharing * group_step
    tag = tl.arange(0, C)
    for t in range(length, n):
        tl.store(tags + t, -1)
    best = tl.load(ways + (length - 1) * c + tag, tags_if(length > 0, tag, c), float("-inf"))
    for back in range(length):
        t = length - 1 - back
        chosen = tl.minimum(tl.argmax(best, 0), c - 1)  # NaN may lead to the padding
        tl.store(tags + t, chosen.to(tl.int64))
        some = tags_if(t > 0, tag, c)
        pairs = tl.load(transition + (t - 1).to(tl.int64) * step + tag * c + chosen, some, float("-inf"))
        best = tl.load(ways + (t - 1) * c + tag, some, float("-inf")) + pairs
