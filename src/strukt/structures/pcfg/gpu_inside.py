"""The last step of the inside pass of a grammar in Triton: the numbers of all spans of a width."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import LOWEST, add, number_of, settled
from strukt.structures.pcfg.gpu_products import numbers_at


@triton.jit
def spans_of(width, starts, lengths, batch, labels, R: tl.constexpr, C: tl.constexpr):
    """Return a tile of spans of a width: rows, items, starts, labels, and a mask of those that exist.

    Programs are (tiles of spans, tiles of labels).
    """
    row = tl.program_id(0) * R + tl.arange(0, R)
    label = tl.program_id(1) * C + tl.arange(0, C)
    item, start = (row // starts).to(tl.int64), row % starts
    live = row < batch * starts
    live = live & (start + width <= tl.load(lengths + item, live, 0))
    return row.to(tl.int64), item, start, label, live[:, None] & (label < labels)[None, :]


@triton.jit
def sum_of_parts(sm, se, parts, part, place, on, like):
    """Return the sum of numbers at some places of each part, not settled."""
    total, top = tl.zeros(like.shape, like.dtype), tl.full(like.shape, LOWEST, tl.int32)
    for _ in range(parts):
        mantissa, exponent = numbers_at(sm, se, place, on)
        total, top = add(total, top, mantissa, exponent)
        place += part
    return total, top


@triton.jit
def weights_of(spans, item_step, start_step, end_step, label_step, item, start, width, label, on):
    """Return the exponentials of the scores of spans as numbers."""
    place = item * item_step + start * start_step + (start + width) * end_step
    return number_of(tl.load(spans + place[:, None] + label[None, :] * label_step, on, 0.0))


@triton.jit(do_not_specialize=["parts", "part", "batch", "width", "starts"])
def close(
    sm, se, parts, part, spans, item_step, start_step, end_step, label_step, lengths, cm, ce, batch, size, labels,
    width, starts, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the numbers of spans of a width, from the sums over their children.

    Args:
        sm, se, parts, part: Sums over children, ``(parts, batch, starts, labels)``, and the size of a part.
        spans, item_step, start_step, end_step, label_step: The scores of spans, and their strides.
        lengths: ``(batch,)``.
        cm, ce: The chart ``(batch, size, size, labels)``.
        batch, size, labels: Its sizes.
        width, starts: The width, and the number of spans of this width.
    """
    row, item, start, label, live = spans_of(width, starts, lengths, batch, labels, R, C)
    factor, power = weights_of(
        spans, item_step, start_step, end_step, label_step, item, start, width, label, live
    )
    place = (row * labels)[:, None] + label[None, :]
    total, top = sum_of_parts(sm, se, parts, part, place, live, factor)
    total, top = settled(total, top)
    total, top = settled(total * factor, top + power)
    cell = (((item * size + start) * size + start + width) * labels)[:, None] + label[None, :]
    tl.store(cm + cell, total, live)
    tl.store(ce + cell, top, live)
