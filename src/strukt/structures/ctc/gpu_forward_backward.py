"""Triton kernels of CTC: log-partitions and the probabilities of labels.

One program handles an item, and each thread one or a few places; the recursion over places is that of
`cpu_forward_backward`.
Threads pass numbers to their neighbours in memory, where the chart is written anyway, with one barrier for each
frame. A load from memory takes as long as the arithmetic of a few frames, so each iteration of a loop handles four
frames and loads the scores of the next four.

All numbers are extended (`strukt.kernels.engine.gpu.numbers`). The chart has a row before the first frame and one
after each frame, of ``blank (places,)`` and ``label (places,)``: mantissas ``vm``, exponents ``ve``.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import LOWEST, add, log, number_of, of_item, ratio, scale, settled


@triton.jit
def item_of(lengths, states, target_lengths, places):
    """Return the item of a program, its number of frames, a pointer to its states, and its last place."""
    item = tl.program_id(0).to(tl.int64)
    return item, tl.load(lengths + item), states + item * (2 * places - 1), tl.load(target_lengths + item)


@triton.jit
def label_of(states, k, last, blank, labels):
    """Return the k-th label of a target, counted from 1; a negative number if there is none, or it is not valid.

    The blank is not valid in a target.
    """
    label = tl.load(states + 2 * k - 1, (k > 0) & (k <= last), -1)
    return tl.where((label < labels) & (label != blank), label, -1)


@triton.jit
def scores_at(logits, frame_step, label_step, t, length, blank, label):
    """Return the score of the blank and those of the target's labels at frame t; -inf outside the item."""
    within = (t >= 0) & (t < length)
    row = logits + t * frame_step
    return (
        tl.load(row + blank * label_step, within, float("-inf")),
        tl.load(row + label * label_step, tl.where(within, label, -1) >= 0, float("-inf")),
    )


@triton.jit
def scores_from(logits, frame_step, label_step, t, length, blank, label):
    """Return the scores at four frames, t to t + 3, each as `scores_at` does."""
    return (
        scores_at(logits, frame_step, label_step, t, length, blank, label),
        scores_at(logits, frame_step, label_step, t + 1, length, blank, label),
        scores_at(logits, frame_step, label_step, t + 2, length, blank, label),
        scores_at(logits, frame_step, label_step, t + 3, length, blank, label),
    )


@triton.jit
def load_or_zero(mantissas, exponents, index, on):
    """Load extended numbers; 0 where the mask ``on`` is False."""
    return tl.load(mantissas + index, on, 0.0), tl.load(exponents + index, on, LOWEST)


@triton.jit
def store_number(mantissas, exponents, index, mantissa, exponent, on):
    """Store extended numbers where the mask ``on`` is True."""
    tl.store(mantissas + index, mantissa, on)
    tl.store(exponents + index, exponent, on)


@triton.jit
def only(mantissa, exponent, where):
    """Return extended numbers, with 0 where the mask ``where`` is False."""
    return tl.where(where, mantissa, 0.0), tl.where(where, exponent, LOWEST)


@triton.jit
def add_three(am, ae, bm, be, cm, ce):
    """Return the unsettled sum of three extended numbers."""
    top = tl.maximum(tl.maximum(ae, be), ce)
    return am * scale(ae - top, am) + bm * scale(be - top, bm) + cm * scale(ce - top, cm), top


@triton.jit
def times(am, ae, bm, be):
    """Return the settled product of two extended numbers."""
    return settled(am * bm, ae + be)


@triton.jit
def one_at(k, place, dtype: tl.constexpr):
    """Return a vector of extended numbers: 1 at ``place``, 0 elsewhere."""
    return tl.where(k == place, 1.0, 0.0).to(dtype), tl.where(k == place, 0, LOWEST)


@triton.jit
def total_of(vm, ve, length, last, places):
    """Return the total over labellings that end in the last label or the blank after it, in an array of size 1."""
    end = tl.zeros([1], tl.int64) + length * 2 * places + last
    on = end >= 0
    bm, be = load_or_zero(vm, ve, end, on)
    lm, le = load_or_zero(vm, ve, end + places, on)
    total, top = add(bm, be, lm, le)
    return settled(total, top)


@triton.jit(do_not_specialize=["item_step", "frame_step", "labels", "places", "step", "power_step"])
def inside(
    logits, item_step, frame_step, label_step, labels, lengths, states, target_lengths, places, vm, ve, step,
    power_step, result, B: tl.constexpr,
):  # fmt: skip
    """Fill the chart of each item; write log-partitions to ``result (batch,)``.

    Args:
        logits, item_step, frame_step, label_step: ``(batch, n, c)``, and the strides of the axes.
        labels: The number of labels, c.
        lengths, states, target_lengths: As in `reference.recursion`.
        places: The number of places of the longest target, m + 1.
        vm, ve, step, power_step: The charts, and the strides of mantissas and of exponents between items.
        result: ``(batch,)``.
        B: A power of two, at least ``places``.
    """
    item, length, states, last = item_of(lengths, states, target_lengths, places)
    logits += item * item_step
    vm, ve = of_item(vm, ve, item, step, power_step)
    dtype: tl.constexpr = vm.dtype.element_ty
    k = tl.arange(0, B)
    blank = tl.load(states)
    label = label_of(states, k, last, blank, labels)
    may_skip = label_of(states, k - 1, last, blank, labels) != label
    bm, be = one_at(k, 0, dtype)
    lm, le = one_at(k, -1, dtype)
    store_number(vm, ve, k, bm, be, k <= last)
    store_number(vm, ve, places + k, lm, le, k <= last)
    barrier()
    now = scores_from(logits, frame_step, label_step, 0, length, blank, label)
    for start in range(0, length, 4):
        following = scores_from(logits, frame_step, label_step, start + 4, length, blank, label)
        for i in tl.static_range(4):
            t = start + i
            end = tl.where(t < length, last, -1)
            before, behind = t * 2 * places + k - 1, (k > 0) & (k <= end)
            pm, pe = load_or_zero(vm, ve, before, behind)
            qm, qe = load_or_zero(vm, ve, before + places, behind & may_skip)
            blank_score, label_score = now[i]
            total, top = add_three(lm, le, pm, pe, qm, qe)
            m, e = add(bm, be, lm, le)
            wm, we = number_of(blank_score.to(dtype))
            bm, be = times(m, e, wm, we)
            wm, we = number_of(label_score.to(dtype))
            lm, le = times(total, top, wm, we)
            after = (t + 1) * 2 * places + k
            store_number(vm, ve, after, bm, be, k <= end)
            store_number(vm, ve, after + places, lm, le, k <= end)
            barrier()
        now = following
    total, top = total_of(vm, ve, length, last, places)
    tl.store(result + item + tl.zeros([1], tl.int32), log(total, top).to(result.dtype.element_ty))


@triton.jit
def frame_at(logits, frame_step, label_step, vm, ve, places, t, length, blank, label, k, last):
    """Return the scores at frame t as `scores_at` does, and the row of the chart after the frame."""
    row, end = (t + 1) * 2 * places + k, tl.where(t >= 0, last, -1)
    bm, be = load_or_zero(vm, ve, row, k <= end)
    lm, le = load_or_zero(vm, ve, row + places, k <= end)
    blank_score, label_score = scores_at(logits, frame_step, label_step, t, length, blank, label)
    return blank_score, label_score, bm, be, lm, le


@triton.jit
def frames_before(logits, frame_step, label_step, vm, ve, places, t, length, blank, label, k, last):
    """Return four frames, t to t - 3, each as `frame_at` does."""
    return (
        frame_at(logits, frame_step, label_step, vm, ve, places, t, length, blank, label, k, last),
        frame_at(logits, frame_step, label_step, vm, ve, places, t - 1, length, blank, label, k, last),
        frame_at(logits, frame_step, label_step, vm, ve, places, t - 2, length, blank, label, k, last),
        frame_at(logits, frame_step, label_step, vm, ve, places, t - 3, length, blank, label, k, last),
    )


@triton.jit
def ranks(states, k, last, blank, labels, label):
    """Return the rank of each label of a target among its sorted labels, from 0; equal labels keep their order."""
    rank = tl.zeros_like(k)
    for j in range(1, last + 1):
        other = label_of(states, j, last, blank, labels)
        rank += ((other < label) | ((other == label) & (j < k))).to(tl.int32)
    return rank


@triton.jit(do_not_specialize=["item_step", "frame_step", "labels", "places", "step", "power_step", "frames"])
def outside(
    logits, item_step, frame_step, label_step, labels, lengths, states, target_lengths, places, vm, ve, step,
    power_step, frames, xm, xe, order, shares, B: tl.constexpr,
):  # fmt: skip
    """Write the probability of each blank and each label at each frame, ``shares (batch, frames, 2, places)``.

    The probabilities of labels are sorted by label, so that `add_labels` sums neighbours; the sorted labels are
    written to ``order (batch, places)``. No shares are written for items without a labelling.

    ``xm`` and ``xe (batch, 2, places)`` pass numbers to neighbouring threads. Odd and even frames have separate
    buffers, because a thread may be one frame ahead of another. Other arguments are those of `inside`.
    """
    item, length, states, last = item_of(lengths, states, target_lengths, places)
    logits += item * item_step
    vm, ve = of_item(vm, ve, item, step, power_step)
    xm, xe = of_item(xm, xe, item, 2 * places, 2 * places)
    shares += item * frames * 2 * places
    dtype: tl.constexpr = vm.dtype.element_ty
    k = tl.arange(0, B)
    blank = tl.load(states)
    label = label_of(states, k, last, blank, labels)
    rank = ranks(states, k, last, blank, labels, label)
    tl.store(order + item * places + rank, label, (k > 0) & (k <= last))
    may_skip = label_of(states, k + 1, last, blank, labels) != label
    total, total_power = total_of(vm, ve, length, last, places)
    length = tl.where(tl.max(total, 0) == 0.0, 0, length)
    bm, be = one_at(k, last, dtype)
    lm, le = bm, be
    now = frames_before(
        logits, frame_step, label_step, vm, ve, places, length - 1, length, blank, label, k, last
    )
    for start in range(0, length, 4):
        following = frames_before(
            logits, frame_step, label_step, vm, ve, places, length - 1 - start - 4, length, blank, label, k,
            last
        )  # fmt: skip
        for i in tl.static_range(4):
            t = length - 1 - start - i
            blank_score, label_score, m, e, n, f = now[i]
            row, end = shares + t * 2 * places, tl.where(t >= 0, last, -1)
            tl.store(row + k, ratio(m * bm, e + be, total, total_power), k <= end)
            behind = (k > 0) & (k <= end)
            tl.store(row + places + rank, ratio(n * lm, f + le, total, total_power), behind)
            wm, we = number_of(blank_score.to(dtype))
            bm, be = times(bm, be, wm, we)
            wm, we = number_of(label_score.to(dtype))
            lm, le = times(lm, le, wm, we)
            side = (i % 2) * places + k
            store_number(xm, xe, side, lm, le, k <= last)
            barrier()
            pm, pe = load_or_zero(xm, xe, side + 1, k < last)
            qm, qe = only(pm, pe, may_skip)
            total_ahead, top = add_three(lm, le, bm, be, qm, qe)
            bm, be = add(bm, be, pm, pe)
            lm, le = total_ahead, top
        now = following


@triton.jit
def within_run(a, a_first, b, b_first):
    """Combine two neighbours in a segmented scan: sums restart at the first element of a run of equal labels."""
    return tl.where(b_first != 0, b, a + b), a_first | b_first


@triton.jit(do_not_specialize=["labels", "places", "step", "power_step", "frames"])
def add_labels(
    labels, lengths, states, target_lengths, places, vm, ve, step, power_step, frames, order, shares, factors,
    factor_step, result, F: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the probability of each label at each frame, times the item's factor, ``result (batch, frames, c)``.

    The grid of programs is (items, tiles of F frames); C labels are cleared at a time. The order of summation is
    fixed, so that results are reproducible to the bit.
    """
    item, length, states, last = item_of(lengths, states, target_lengths, places)
    vm, ve = of_item(vm, ve, item, step, power_step)
    t = tl.program_id(1).to(tl.int64) * F + tl.arange(0, F)[:, None]
    rows = result + (item * frames + t) * labels
    for start in range(0, labels, C):
        c = start + tl.arange(0, C)[None, :]
        tl.store(rows + c, tl.zeros([F, C], result.dtype.element_ty), (t < frames) & (c < labels))
    barrier()
    total, _ = total_of(vm, ve, length, last, places)
    within = t < tl.where(tl.max(total, 0) == 0.0, 0, length)
    k = tl.arange(0, B)[None, :]
    order += item * places
    label = tl.load(order + k, k < last, -1)
    first = (k == 0) | (tl.load(order + k - 1, (k > 0) & (k < last), -1) != label)
    final = (k == last - 1) | (tl.load(order + k + 1, k < last - 1, -1) != label)
    shares += (item * frames + t) * 2 * places
    factor = tl.load(factors + item * factor_step).to(result.dtype.element_ty)
    share = tl.load(shares + places + k, within & (k < last), 0.0)
    share, _ = tl.associative_scan((share, tl.broadcast_to(first.to(tl.int32), [F, B])), 1, within_run)
    tl.store(rows + label, factor * share, within & (k < last) & final & (label >= 0))
    share = tl.sum(tl.load(shares + k, within & (k <= last), 0.0), 1)[:, None]
    tl.store(rows + tl.load(states), factor * share, within)
