"""Triton kernels of heads, spans and codes, one program for each row: see `strukt.structures.events`."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.structures.events.gpu_sequences import entries_of, none_of


@triton.jit
def are_dependency_trees(
    heads, lengths, are_valid, n, SINGLE: tl.constexpr, PROJECTIVE: tl.constexpr, B: tl.constexpr
):  # fmt: skip
    """Write True to ``are_valid`` if heads are those of a tree, else False.

    Arrays: ``heads (rows, n)``; ``lengths`` and the result ``are_valid (rows,)``. If SINGLE, exactly one word must
    depend on the root; if PROJECTIVE, no arcs may cross. B is a power of two of at least n.
    """
    row, positions, within, above = entries_of(heads, lengths, n, B)
    heads += row * n
    length = tl.minimum(tl.load(lengths + row), n)
    wrong = within & ((above < 0) | (above > length))
    valid = none_of(wrong)
    if valid:
        # Follow the heads of all words until the root; in a cycle some never arrive.
        here, steps = above, 0
        while (tl.max(here, 0) > 0) & (steps < n):
            here = tl.load(heads + here - 1, here > 0, 0)
            steps += 1
        valid = tl.max(here, 0) == 0
        if SINGLE:
            roots = tl.sum((within & (above == 0)).to(tl.int32), 0)
            valid = valid & ((roots == 1) | (length == 0))
        if PROJECTIVE:
            words = positions + 1
            low, high = tl.minimum(above, words), tl.maximum(above, words)
            crossed = low < 0
            for other in range(1, length + 1):
                second = tl.load(heads + other - 1)
                start, end = tl.minimum(second, other), tl.maximum(second, other)
                crossed = crossed | (within & (low < start) & (start < high) & (high < end))
            valid = valid & none_of(crossed)
    tl.store(are_valid + row, valid)


@triton.jit
def read_spans(
    labels, lengths, first_word, end_word, first_wider, end_wider, places, span_labels, are_trees, size, capacity,
    B: tl.constexpr,
):  # fmt: skip
    """Write the places of spans and their labels, and a mask of the rows that are trees with valid labels.

    Arrays: ``labels (rows, size, size)`` and ``lengths (rows,)``; the results ``places (rows, capacity)``, -1
    after the last span, ``span_labels (rows, capacity)``, 0 after it, and ``are_trees (rows,)``. Words have labels
    from ``first_word`` to before ``end_word``, wider spans from ``first_wider`` to before ``end_wider``. B is a
    power of two of at least ``size``.

    The left child of a span is the widest narrower span with the same start, the one before it in the list.
    """
    row = tl.program_id(0).to(tl.int64)
    labels += row * size * size
    places += row * capacity
    span_labels += row * capacity
    n = tl.load(lengths + row)
    for start in range(0, capacity, B):
        x = start + tl.arange(0, B)
        tl.store(places + x, tl.full([B], -1, tl.int64), x < capacity)
        tl.store(span_labels + x, tl.zeros([B], tl.int64), x < capacity)
    tl.debug_barrier()
    ends = tl.arange(0, B)
    wrong = ends < 0
    count = 0
    for start in range(0, n):
        within = (ends > start) & (ends <= n)
        label = tl.load(labels + start * size + ends, within, -1)
        used = within & (label >= 0)
        rank = count + tl.cumsum(used.to(tl.int32), 0) - 1
        kept = used & (rank < capacity)
        tl.store(places + rank, (start * size + ends).to(tl.int64), kept)
        tl.store(span_labels + rank, label, kept)
        tl.debug_barrier()
        before = tl.load(places + rank - 1, kept & (rank > count), start) % size
        right_child = tl.load(labels + before * size + ends, kept & (before > start), -1)
        is_word = ends == start + 1
        first, end = tl.where(is_word, first_word, first_wider), tl.where(is_word, end_word, end_wider)
        wrong = wrong | (within & (label < -1)) | (used & ((label < first) | (label >= end)))
        wrong = wrong | (used & ~is_word & (right_child < 0))
        count += tl.sum(used.to(tl.int32), 0)
    whole = tl.load(labels + n) >= 0
    valid = (count == tl.maximum(2 * n - 1, 0)) & (whole | (n == 0))
    tl.store(are_trees + row, none_of(wrong) & valid)


@triton.jit
def bit_places(spans, codes, positive, negative, total, bits, B: tl.constexpr):
    """Write the place of each 1 bit of the codes to ``positive``, and of each 0 bit to ``negative``; else -1.

    Arrays: ``spans``, -1 where there is none, and ``codes (total // bits,)``; the results ``positive`` and
    ``negative (total,)``. A program writes B entries.
    """
    x = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    live = x < total
    span, code = tl.load(spans + x // bits, live, -1), tl.load(codes + x // bits, live, 0)
    place, is_set = span * bits + x % bits, ((code >> (x % bits)) & 1) > 0
    tl.store(positive + x, tl.where((span >= 0) & is_set, place, -1), live)
    tl.store(negative + x, tl.where((span >= 0) & ~is_set, place, -1), live)
