"""Triton kernel of the states of CTC: one program for each item."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["item_step", "longest", "blank", "labels"])
def write_states(
    targets, item_step, label_step, target_lengths, longest, blank, labels, states, valid, B: tl.constexpr
):  # fmt: skip
    """Write the labels of a target with blanks around them, and 1 to ``valid`` if all are valid labels, else 0.

    Arrays: ``targets (items, longest)`` with the strides ``item_step`` and ``label_step``, ``target_lengths
    (items,)``, ``states (items, 2 longest + 1)`` and ``valid (items,)``. ``labels`` is the number of labels,
    including the blank, which is not valid in a target.
    """
    item = tl.program_id(0).to(tl.int64)
    last = tl.load(target_lengths + item)
    targets += item * item_step
    states += item * (2 * longest + 1)
    faults = tl.zeros([B], tl.int32)
    for start in range(0, longest + 1, B):
        k = start + tl.arange(0, B)
        used = (k > 0) & (k <= last)
        label = tl.load(targets + (k - 1) * label_step, used, 0).to(tl.int64)
        faults |= (used & ((label < 0) | (label >= labels) | (label == blank))).to(tl.int32)
        tl.store(states + 2 * k - 1, tl.where(used, label, blank), (k > 0) & (k <= longest))
        tl.store(states + 2 * k, tl.zeros([B], tl.int64) + blank, k <= longest)
    tl.store(valid + item, (tl.max(faults, 0) == 0).to(tl.uint8))
