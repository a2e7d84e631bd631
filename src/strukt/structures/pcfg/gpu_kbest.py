"""The k best trees of a grammar in Triton: the search of `cpu_kbest`, one program for each item.

As there, the first choice is the label of the whole sentence. Then comes one choice for each span of several
words, parents before children: the fencepost between its children, and their labels. Candidates are kept as in
`strukt.kernels.engine.gpu.kbest`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.kbest import BEYOND, empty_slots, extreme_of
from strukt.structures.pcfg.gpu_cky import best_children, best_top, push, values_of


@triton.jit
def offer(other, choice, first_code, candidates, least, slot, S: tl.constexpr):
    """Queue the candidates of a tile that are better than the worst in the queue; return the new worst one.

    Args:
        other: ``(rows, columns)``, the scores of the candidates; -inf where there is none.
        choice: The choice of each candidate.
        first_code: The code of choice 0 at the place where the candidates deviate.
        candidates: The scores and the codes in the queue, and its number of slots.
        least, slot: The score and the slot of the worst candidate in the queue.
        S: The number of slots that are compared at a time.
    """
    scores, codes, slots = candidates
    top = tl.max(tl.max(other, 1), 0)
    while top > least:
        first = tl.min(tl.min(tl.where(other == top, choice, BEYOND), 1), 0)
        tl.store(scores + slot, top)
        tl.store(codes + slot, first_code + first)
        barrier()
        least, last, slot = extreme_of(scores, codes, slots, -1, S)
        other = tl.where(choice == first, float("-inf"), other)
        top = tl.max(tl.max(other, 1), 0)
        barrier()
    return least, slot


@triton.jit
def offer_tops(
    chart, root, length, s, chosen, around, first_code, candidates, least, slot, C: tl.constexpr, S: tl.constexpr
):
    """Queue the trees with another root label; ``around`` is added to their scores."""
    for start in range(0, s, C):
        c = (start + tl.arange(0, C))[None, :]
        below = tl.load(chart + length.to(tl.int64) * s + c, (c < s) & (c != chosen), float("-inf"))
        other = around + (tl.load(root + c, c < s, float("-inf")).to(tl.float64) + below)
        least, slot = offer(other, c.to(tl.int64), first_code, candidates, least, slot, S)
    return least, slot


@triton.jit
def offer_children(
    chart, words, rules, i, j, size, s, p, chosen, around, first_code, candidates, least, slot, B: tl.constexpr,
    C: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Queue the trees with other children of a span; ``around`` is the outside score of the span."""
    labels = s + p
    for k in range(i + 1, j):
        above, left, left_count = values_of(chart, words, i, k, size, s, p)
        below, right, right_count = values_of(chart, words, k, j, size, s, p)
        for start in range(0, left_count, B):
            b = start + tl.arange(0, B)
            high = around + tl.load(above + b, b < left_count, float("-inf"))
            for begin in range(0, right_count, C):
                c = begin + tl.arange(0, C)
                live = (b < left_count)[:, None] & (c < right_count)[None, :]
                pair = ((left + b) * labels)[:, None] + (right + c)[None, :]
                rule = tl.load(rules + pair, live, float("-inf")).to(tl.float64)
                low = tl.load(below + c, c < right_count, float("-inf"))
                choice = pair.to(tl.int64) + (k - i).to(tl.int64) * labels * labels
                other = tl.where(choice == chosen, float("-inf"), high[:, None] + rule + low[None, :])
                least, slot = offer(other, choice, first_code, candidates, least, slot, S)
    return least, slot


@triton.jit
def follow(
    chart, words, root, rules, length, n, s, p, queue, choices, events, structure, candidates, B: tl.constexpr,
    C: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Write a tree: its choices up to the deviation, then the best ones, whose alternatives are queued.

    ``structure`` holds the rank of the tree, the rank of the tree from which it deviates, the place of the
    deviation, the choice there, and the score. ``choices (ranks, n)`` are the choices of the trees of all ranks.
    """
    rank, parent, deviation, choice, score = structure
    size, labels = n + 1, s + p
    width = (choice * 0 + labels) * labels * n
    least, last, slot = extreme_of(candidates[0], candidates[1], candidates[2], -1, S)
    barrier()
    chosen = tl.load(choices + parent * n, deviation > 0, choice)
    if deviation < 0:
        best, label = best_top(chart, root, length, s, C)
        chosen = label.to(tl.int64)
        code = rank.to(tl.int64) * n * width
        least, slot = offer_tops(
            chart, root, length, s, chosen, score - best, code, candidates, least, slot, C, S
        )
    tl.store(choices + rank * n, chosen)
    push(queue, 0, length, chosen.to(tl.int32))
    barrier()
    end, place = 1, 1
    for node in range(tl.maximum(2 * length - 1, 0)):
        i, j, label = tl.load(queue + 3 * node), tl.load(queue + 3 * node + 1), tl.load(queue + 3 * node + 2)
        tl.store(events + i * size + j, label.to(tl.int64))
        if j - i > 1:
            label_rules = rules + label.to(tl.int64) * labels * labels
            chosen = tl.load(choices + parent * n + place, place < deviation, choice)
            if place > deviation:
                best, split, left, right = best_children(chart, words, label_rules, i, j, size, s, p, B, C)
                chosen = ((split - i).to(tl.int64) * labels + left) * labels + right
                code = (rank.to(tl.int64) * n + place) * width
                least, slot = offer_children(
                    chart, words, label_rules, i, j, size, s, p, chosen, score - best, code, candidates, least,
                    slot, B, C, S,
                )  # fmt: skip
            tl.store(choices + rank * n + place, chosen)
            split = i + (chosen // (labels * labels)).to(tl.int32)
            push(queue + 3 * end, i, split, (chosen // labels % labels).to(tl.int32))
            push(queue + 3 * end + 3, split, j, (chosen % labels).to(tl.int32))
            end += 2
            place += 1
        barrier()


@triton.jit(do_not_specialize=["n", "ranks"])
def kbest(
    chart, words, root, rules, sharing, root_sharing, lengths, queue, choices, scores, codes, events, result, n, s,
    p, ranks, B: tl.constexpr, C: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Write the labels of the spans of the k best trees of each item, and their scores.

    Other arguments are as in `gpu_cky.walk`.

    Args:
        choices: Workspace ``(batch, ranks, n)`` for the choices of the trees.
        scores, codes: Workspace ``(batch, ranks)`` for the queue of candidates.
        events: ``(batch, ranks, n + 1, n + 1)``, all -1.
        result: ``(batch, ranks)``, all -inf.
        ranks: The number of trees.
        S: The number of candidates that are compared at a time.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    size, labels, slots = n + 1, s + p, ranks - 1
    chart += item * size * size * s
    words += item * n * p
    root += item // root_sharing * s
    rules += item // sharing * s * labels * labels
    queue += item * 6 * n
    choices += item * ranks * n
    scores += item * ranks
    codes += item * ranks
    events += item * ranks * size * size
    result += item * ranks
    empty_slots(scores, codes, slots, S)
    barrier()
    candidates = (scores, codes, slots)
    score, label = best_top(chart, root, length, s, C)
    score = tl.where(length == 0, 0.0, score)
    rank = tl.full([], 0, tl.int32)
    parent, deviation, choice = rank, rank - 1, rank.to(tl.int64)
    while (rank < ranks) & (score > float("-inf")):
        tl.store(result + rank, score)
        structure = (rank, parent, deviation, choice, score)
        follow(
            chart, words, root, rules, length, n, s, p, queue, choices, events, structure, candidates, B, C, S
        )
        barrier()
        score, code, slot = extreme_of(scores, codes, slots, 1, S)
        barrier()
        tl.store(codes + slot, code * 0 - 1, slot >= 0)
        width = (code * 0 + labels) * labels * n
        choice = code % width
        deviation = ((code // width) % n).to(tl.int32)
        parent = (code // width // n).to(tl.int32)
        events += size * size
        rank += 1
        barrier()
