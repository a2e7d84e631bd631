"""Triton kernels of tags, frames and segments, one program for each row: see `strukt.structures.events`.

Arrays have the shapes that they have there; masks are ``(rows,)``. All sequences have ``n`` entries; ``B`` is a
power of two of at least n.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def entries_of(sequences, lengths, n, B: tl.constexpr):
    """Return the program's row, the positions 0 to B - 1, a mask of those within the length, and their entries.

    Entries beyond the length are 0.
    """
    row = tl.program_id(0).to(tl.int64)
    positions = tl.arange(0, B)
    within = (positions < n) & (positions < tl.load(lengths + row))
    return row, positions, within, tl.load(sequences + row * n + positions, within, 0)


@triton.jit
def clipped(labels, count):
    """Clip labels to the range from 0 to ``count - 1``."""
    return tl.minimum(tl.maximum(labels, 0), count - 1)


@triton.jit
def none_of(wrong):
    """Return True if no entry of the mask ``wrong`` is True."""
    return tl.sum(wrong.to(tl.int32), 0) == 0


@triton.jit
def in_range(named, lengths, are_valid, n, count, B: tl.constexpr):
    """Write True to ``are_valid`` if all entries within the length are from 0 to ``count - 1``, else False."""
    row, _, within, entries = entries_of(named, lengths, n, B)
    tl.store(are_valid + row, none_of(within & ((entries < 0) | (entries >= count))))


@triton.jit
def alternative_places(named, lengths, places, n, count, B: tl.constexpr):
    """Write the place of the alternative at each position to ``places``, -1 in the padding."""
    row, positions, within, entries = entries_of(named, lengths, n, B)
    place = tl.where(within, positions * count + clipped(entries, count), -1)
    tl.store(places + row * n + positions, place, positions < n)


@triton.jit
def tag_places(tags, lengths, places, pairs, n, count, each, B: tl.constexpr):
    """Write the places of tags to ``places``, and those of pairs of neighbours to ``pairs``; -1 in the padding.

    ``each`` is the number of scores of pairs that each step has, or 0 if all steps share them.
    """
    row, positions, within, entries = entries_of(tags, lengths, n, B)
    first = clipped(entries, count)
    tl.store(places + row * n + positions, tl.where(within, positions * count + first, -1), positions < n)
    both = positions + 1 < tl.minimum(tl.load(lengths + row), n)
    second = tl.load(tags + row * n + positions + 1, both, 0)
    place = first * count + clipped(second, count) + positions.to(tl.int64) * each
    tl.store(pairs + row * (n - 1) + positions, tl.where(both, place, -1), positions + 1 < n)


@triton.jit
def are_frames(
    labels, lengths, states, target_lengths, are_valid, n, width, blank, count, B: tl.constexpr
):  # fmt: skip
    """Write True to ``are_valid`` if the labels of frames collapse to their target, else False.

    ``width`` is the number of states in a row, 2 m + 1.
    """
    row, positions, within, entries = entries_of(labels, lengths, n, B)
    before = tl.load(labels + row * n + positions - 1, within & (positions > 0), blank)
    starts = within & (entries != blank) & (entries != before)
    spelt = tl.cumsum(starts.to(tl.int32), 0)
    known = starts & (2 * spelt - 1 < width)
    expected = tl.load(states + row * width + 2 * spelt - 1, known, -1)
    wrong = within & ((entries < 0) | (entries >= count)) | (starts & (entries != expected))
    complete = tl.sum(starts.to(tl.int32), 0) == tl.load(target_lengths + row)
    tl.store(are_valid + row, none_of(wrong) & complete)


@triton.jit
def smaller(a, b):
    """Return the smaller of two numbers, for scans."""
    return tl.minimum(a, b)


@triton.jit
def following_of(labels, row, n, positions, length, B: tl.constexpr):
    """Return, for each position, the next position at which a segment starts, or the length if there is none."""
    after = positions + 1
    starts = tl.load(labels + row * n + after, after < tl.minimum(length, n), -1) >= 0
    nearest = tl.associative_scan(tl.where(starts, after, B), 0, smaller, reverse=True)
    return tl.minimum(nearest.to(tl.int64), length)


@triton.jit
def are_segmentations(labels, lengths, are_valid, n, longest, count, B: tl.constexpr):
    """Write True to ``are_valid`` if labels are a segmentation, else False.

    Segments have at most ``longest`` positions.
    """
    row, positions, within, entries = entries_of(labels, lengths, n, B)
    starts = within & (entries >= 0)
    following = following_of(labels, row, n, positions, tl.load(lengths + row), B)
    wrong = within & ((entries < -1) | (entries >= count) | ((positions == 0) & (entries < 0)))
    tl.store(are_valid + row, none_of(wrong | (starts & (following - positions > longest))))


@triton.jit
def segment_places(
    labels, lengths, places, onward, n, longest, count, pairs, each, B: tl.constexpr
):  # fmt: skip
    """Write the places of segments to ``places``, and those of transitions to the next segment to ``onward``.

    Both are written at the first position of each segment; other entries are -1. ``each`` is the number of scores
    of transitions that each position has, or 0 if all positions share them.
    """
    row, positions, within, entries = entries_of(labels, lengths, n, B)
    length = tl.load(lengths + row)
    starts = within & (entries >= 0)
    following = following_of(labels, row, n, positions, length, B)
    label = clipped(entries, count)
    duration = tl.minimum(following - positions, longest)
    place = (positions * longest + duration - 1) * count + label
    tl.store(places + row * n + positions, tl.where(starts, place, -1), positions < n)
    followed = starts & (following < length)
    second = clipped(tl.load(labels + row * n + following, followed, 0), count)
    pair = tl.where(pairs > 1, label * pairs + second, 0) + (following - 1) * each
    tl.store(onward + row * n + positions, tl.where(followed, pair, -1), positions < n)
