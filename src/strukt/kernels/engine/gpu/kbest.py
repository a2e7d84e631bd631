"""Triton kernel of the k best structures: the search of `strukt.kernels.cpu_kbest`, one Triton program per item.

It walks through one structure after another, cell by cell, as `strukt.kernels.engine.walk.follow` does; its
threads compare the terms of a sum and the candidates. A candidate is a score and a code: the rank of the structure
that it deviates from, the place, and the choice there, in one number. Among equal scores, a candidate queued later
has a larger code, so that the smallest code comes first, as on the CPU.

Functions take the values that they only read as tuples:

- ``terms`` of a row: three arrays, the first index into each (negative without one), and the number of terms;
- a ``structure``: its rank, and that of its parent; the place where it deviates, the choice there; and its score;
- the ``memory`` of choices: those of all ranks ``(ranks, most)``, and the factor ``width`` of places in codes;
- the ``candidates``: their scores, their codes, and how many slots there are.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier, end_of
from strukt.kernels.engine.gpu.launching import for_all_sizes

EMPTY = tl.constexpr(1 << 61)
"""The code of an empty slot, plus its number; a candidate that was taken leaves a slot with the code -1."""

BEYOND = tl.constexpr((1 << 63) - 1)
"""Larger than all codes."""

END = tl.constexpr(-2)
"""The row of the total, which is not in the table."""


@triton.jit
def empty_slots(scores, codes, slots, S: tl.constexpr):
    """Empty the slots of candidates ``(slots,)``."""
    for start in range(0, slots, S):
        slot = start + tl.arange(0, S)
        tl.store(scores + slot, tl.full([S], float("-inf"), tl.float64), slot < slots)
        tl.store(codes + slot, slot.to(tl.int64) + EMPTY, slot < slots)


@triton.jit
def extreme_of(scores, codes, slots, sign, S: tl.constexpr):
    """Return score, code and slot of the first candidate, or of the last one if ``sign`` is -1.

    Empty slots come last, with the score -inf. The slot is -1 if candidates were taken from all slots.
    """
    best = tl.full([], float("-inf"), tl.float64)
    first = tl.full([], BEYOND, tl.int64)
    place = tl.full([], -1, tl.int32)
    for start in range(0, slots, S):
        slot = start + tl.arange(0, S)
        code = tl.load(codes + slot, slot < slots, -1)
        score = tl.where(code >= 0, tl.load(scores + slot, slot < slots, 0.0) * sign, float("-inf"))
        top = tl.max(score, 0)
        low = tl.min(tl.where((code >= 0) & (score == top), code * sign, BEYOND), 0)
        here = tl.max(tl.where((code >= 0) & (code * sign == low), slot, -1), 0)
        better = (top > best) | ((top == best) & (low < first))
        best, first = tl.where(better, top, best), tl.where(better, low, first)
        place = tl.where(better, here, place)
    return best * sign, first * sign, place


@triton.jit
def ways_of(terms, start, K: tl.constexpr):
    """Return the indices of K terms of a row from ``start`` on, and the score of each; -inf beyond the last."""
    as_, bs, cs, a, b, c, n = terms
    k = start + tl.arange(0, K)
    way = tl.load(as_ + a + k, k < n, float("-inf"))
    more = tl.load(bs + b + k, k < tl.where(b >= 0, n, 0), 0.0)
    more += tl.load(cs + c + k, k < tl.where(c >= 0, n, 0), 0.0)
    return k, tl.where(way == float("-inf"), way, way + more)  # the others may be padding


@triton.jit
def best_way(terms, K: tl.constexpr):
    """Return the largest score of a term of a row, and the index of the first term that has it."""
    best, chosen = tl.full([], float("-inf"), tl.float64), tl.full([], 0, tl.int32)
    for start in range(0, terms[6], K):
        k, way = ways_of(terms, start, K)
        top = tl.max(way, 0)
        first = tl.min(tl.where(way == top, k, 1 << 30), 0)
        better = top > best
        best, chosen = tl.where(better, top, best), tl.where(better, first, chosen)
    return best, chosen


@triton.jit
def choose(terms, structure, place, memory, K: tl.constexpr):
    """Record and return the term that a structure chooses at a place.

    It is that of the parent before the place of deviation, the structure's choice there, and the best one beyond.
    Also return the score of the best one, -inf if the term is not chosen as such. A single term is no choice.
    """
    rank, parent, deviation, choice, score = structure
    choices, most, width = memory
    several = terms[6] > 1
    before = tl.load(choices + parent * most + place, several & (place < deviation), 0)
    chosen = tl.where(several & (place == deviation), choice, before)
    best = tl.full([], float("-inf"), tl.float64)
    if several & (place > deviation):
        best, chosen = best_way(terms, K)
    tl.store(choices + rank * most + place, chosen, several)
    return chosen, best


@triton.jit
def queue_others(
    terms, structure, place, memory, chosen, best, candidates, least, slot, K: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Queue the structures that deviate at a place beyond the last deviation, in place of worse candidates.

    Return the next place, and score and slot of the last candidate.
    """
    rank, parent, deviation, choice, score = structure
    choices, most, width = memory
    scores, codes, slots = candidates
    n = terms[6]
    if (n > 1) & (place > deviation):
        first_code = (rank.to(tl.int64) * most + place) * width
        for start in range(0, n, K):
            k, way = ways_of(terms, start, K)
            other = tl.where((k < n) & (k != chosen), score + (way - best), float("-inf"))
            top = tl.max(other, 0)
            while top > least:
                first = tl.min(tl.where(other == top, k, 1 << 30), 0)
                tl.store(scores + slot, top)
                tl.store(codes + slot, first_code + first)
                barrier()
                least, last, slot = extreme_of(scores, codes, slots, -1, S)
                other = tl.where(k == first, float("-inf"), other)
                top = tl.max(other, 0)
                barrier()
    return place + (n > 1).to(tl.int32), least, slot


@triton.jit
def row_at(rows, count, s, total):
    """Return left, right, count, weight and each of the row s, or of the total; count is 0 for a leaf."""
    left, right, terms = total
    live, is_total = s >= 0, s == END
    return (
        tl.where(is_total, left, tl.load(rows + 2 * count + s, live, 0)),
        tl.where(is_total, right, tl.load(rows + 3 * count + s, live, -1)),
        tl.where(is_total, terms, tl.load(rows + 4 * count + s, live, 0)),
        tl.load(rows + 5 * count + s, live, -1), tl.load(rows + 6 * count + s, live, -1),
    )  # fmt: skip


@triton.jit
def follow(
    rows, count, maker, total, weight_scores, values, stack, structure, memory, candidates, least, slot, used,
    listed, K: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Walk through a structure from the total down; mark its weights in ``used``, and list them in ``listed``.

    Return their number, the number of choices, and score and slot of the last candidate.
    """
    zero = structure[0] * 0
    depth, place, number = zero, zero, zero
    s, going = zero + END, total[2] > 0
    while going:
        a, b, n, whole, each = row_at(rows, count, s, total)
        ways = (values, values, weight_scores, a, b, each, n)
        k, best = choose(ways, structure, place, memory, K)
        place, least, slot = queue_others(ways, structure, place, memory, k, best, candidates, least, slot, K, S)
        leaf, waiting = n == 0, depth > 0
        popped = tl.load(stack + depth - 1, leaf & waiting, 0)
        depth -= (leaf & waiting).to(tl.int32)
        one = (n * 0 + 1).to(used.dtype.element_ty)
        tl.store(used + whole, one, whole >= 0)
        tl.store(listed + number, whole, whole >= 0)
        number += (whole >= 0).to(tl.int32)
        tl.store(used + each + k, one, each >= 0)
        tl.store(listed + number, each + k, each >= 0)
        number += (each >= 0).to(tl.int32)
        tl.store(stack + depth, b + k, b >= 0)
        depth += (b >= 0).to(tl.int32)
        going = waiting | (n > 0)
        s = tl.load(maker + tl.where(leaf, popped, a + k), going, -1)
        barrier()
    return number, place, least, slot


@triton.jit
def choose_values(
    of_values, places, listed, number, place, structure, memory, candidates, least, slot, used,
    FEATURES: tl.constexpr, VALUES: tl.constexpr, V: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Choose a value for each feature of the first ``number`` weights in ``listed``; set their marks in ``used``.

    A mark is 1 plus the code of the values; see `strukt.kernels.engine.choices`. ``of_values (places, FEATURES,
    VALUES)`` are the scores of values, ``places (weights,)`` the place of each weight. Return score and slot of
    the last candidate.
    """
    for i in range(number):
        weight = tl.load(listed + i)
        at = tl.load(places + weight).to(tl.int32) * (FEATURES * VALUES)
        none = at * 0 - 1
        code = none.to(tl.int64) * 0
        unit = code + 1  # int64, too: codes have up to 62 bits
        for feature in range(FEATURES):
            ways = (of_values, of_values, of_values, at + feature * VALUES, none, none, at * 0 + VALUES)
            k, best = choose(ways, structure, place, memory, V)
            place, least, slot = queue_others(
                ways, structure, place, memory, k, best, candidates, least, slot, V, S
            )
            code += unit * k
            unit *= VALUES
        tl.store(used + weight, 1 + code)
    return least, slot


@for_all_sizes
def kbest(
    rows, count, ends, end_count, maker, sizes, weight_scores, values, best, of_values, places, stack, choices,
    listed, scores, codes, used, best_scores, cells, weights, value_count, waiting, most, most_used, width, ranks,
    FEATURES: tl.constexpr, VALUES: tl.constexpr, K: tl.constexpr, V: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Mark the weights of the best structures, ``used (batch, ranks, weights)``, and write their scores.

    Marks are 1, plus the code of the weight's values if it has any. The scores are ``best_scores (batch, ranks)``.
    The caller fills marks with 0 and scores with -inf. `strukt.kernels.engine.gpu.run.Run.kbest_weights` passes
    the other arguments:

    - arrays of the table, as in `strukt.kernels.engine.gpu.tables`: ``rows``, ``ends``, ``maker`` and ``places``;
    - scores: ``sizes (batch,)``, the index of the size of each item; ``weight_scores (batch, weights)``; the best
      scores of cells and items, ``values (batch, cells)`` and ``best (batch,)``; and ``of_values (batch, places,
      FEATURES, VALUES)``, or the scores of weights if FEATURES is 0;
    - workspace: ``stack (batch, waiting)``, ``choices (batch, ranks, most)``, ``listed (batch, most_used)``, and
      the ``scores`` and ``codes (batch, ranks)`` of candidates;
    - ``width``, the factor of places in codes; and the blocks of terms (K), of values (V) and of slots (S).
    """
    item = tl.program_id(0).to(tl.int64)
    weight_scores += item * weights
    values += item * cells
    of_values += item * value_count
    stack += item * waiting
    choices += item * ranks * most
    listed += item * most_used
    scores += item * ranks
    codes += item * ranks
    used += item * ranks * weights
    best_scores += item * ranks
    left, right, terms, stages = end_of(ends, end_count, tl.load(sizes + item).to(tl.int32))
    slots = ranks - 1
    empty_slots(scores, codes, slots, S)
    barrier()
    score, rank = tl.load(best + item), tl.full([], 0, tl.int32)
    parent, deviation, choice = rank, rank - 1, rank
    total = (left, right, terms)
    memory = (choices, most, width)
    candidates = (scores, codes, slots)
    while (rank < ranks) & (score > float("-inf")):
        tl.store(best_scores + rank, score)
        least, last, slot = extreme_of(scores, codes, slots, -1, S)
        barrier()
        structure = (rank, parent, deviation, choice, score)
        number, place, least, slot = follow(
            rows, count, maker, total, weight_scores, values, stack, structure, memory, candidates, least, slot,
            used, listed, K, S
        )
        if FEATURES > 0:
            choose_values(
                of_values, places, listed, number, place, structure, memory, candidates, least, slot, used,
                FEATURES, VALUES, V, S
            )
        barrier()
        score, code, slot = extreme_of(scores, codes, slots, 1, S)
        barrier()
        tl.store(codes + slot, code * 0 - 1, slot >= 0)
        choice = (code % width).to(tl.int32)
        deviation = ((code // width) % most).to(tl.int32)
        parent = (code // width // most).to(tl.int32)
        used += weights
        rank += 1
        barrier()
