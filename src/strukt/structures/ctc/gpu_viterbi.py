"""Triton kernel of the best labelling of CTC: a Viterbi pass forwards, then a walk back along back-pointers.

The best scores are float64. A byte holds the back-pointers of a place. Bit 0 is set if the best predecessor of the
blank is the label before it. The higher bits are 0 if the best predecessor of the label is the label itself, 1 if
it is the blank before, and 2 if it is the label before that.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.structures.ctc.gpu_forward_backward import item_of, label_of, scores_from


@triton.jit(do_not_specialize=["item_step", "frame_step", "labels", "places", "frames"])
def best(
    logits, item_step, frame_step, label_step, labels, lengths, states, target_lengths, places, frames, passed,
    ways, events, scores, B: tl.constexpr,
):  # fmt: skip
    """Write the best labelling of each item, ``events (batch, frames)``, and its score; -1 and -inf for none.

    Arguments up to ``places``, and B, are those of `gpu_forward_backward.inside`.
    ``passed (batch, 2, 2, places)`` passes the best scores of blanks and labels to neighbouring threads, with
    separate buffers for even and odd frames; ``ways (batch, frames, places)`` is workspace for back-pointers.
    """
    item, length, states, last = item_of(lengths, states, target_lengths, places)
    logits += item * item_step
    passed += item * 4 * places
    ways += item * frames * places
    events += item * frames
    k = tl.arange(0, B)
    blank = tl.load(states)
    label = label_of(states, k, last, blank, labels)
    may_skip = label_of(states, k - 1, last, blank, labels) != label
    at_blank = tl.where(k == 0, 0.0, float("-inf")).to(tl.float64)
    at_label = tl.full([B], float("-inf"), tl.float64)
    for start in range(0, frames, B):
        tl.store(events + start + k, tl.full([B], -1, tl.int64), start + k < frames)
    now = scores_from(logits, frame_step, label_step, 0, length, blank, label)
    for start in range(0, length, 4):
        following = scores_from(logits, frame_step, label_step, start + 4, length, blank, label)
        for i in tl.static_range(4):
            t = start + i
            side, end = passed + (i % 2) * 2 * places + k, tl.where(t < length, last, -1)
            tl.store(side, at_blank, k <= end)
            tl.store(side + places, at_label, k <= end)
            barrier()
            behind = (k > 0) & (k <= end)
            from_blank = tl.load(side - 1, behind, float("-inf"))
            from_label = tl.load(side + places - 1, behind & may_skip, float("-inf"))
            before = tl.maximum(from_blank, from_label)
            way = tl.where(before > at_label, tl.where(from_label > from_blank, 4, 2), 0)
            way += (at_label > at_blank).to(tl.int32)
            tl.store(ways + t * places + k, way.to(tl.int8), k <= end)
            blank_score, label_score = now[i]
            entered = tl.maximum(at_blank, at_label) + blank_score.to(tl.float64)
            at_label = tl.where(k <= end, tl.maximum(at_label, before) + label_score.to(tl.float64), at_label)
            at_blank = tl.where(k <= end, entered, at_blank)
        now = following
    barrier()
    blank_total = tl.max(tl.where(k == last, at_blank, float("-inf")), 0)
    label_total = tl.max(tl.where(k == last, at_label, float("-inf")), 0)
    score = tl.maximum(blank_total, label_total)
    tl.store(scores + item, score.to(scores.dtype.element_ty))
    place, in_label = last, label_total > blank_total
    for i in range(0, tl.where(score == float("-inf"), 0, length)):
        t = length - 1 - i
        tl.store(events + t, tl.load(states + tl.where(in_label, 2 * place - 1, 0)))
        way = tl.load(ways + t * places + place).to(tl.int32)
        back = tl.where(in_label, way >> 1, 0)
        in_label = tl.where(in_label, back != 1, (way & 1) != 0)
        place -= (back > 0).to(place.dtype)
