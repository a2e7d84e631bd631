"""The last step of the inside pass of a grammar in Triton: the numbers of all spans of a width."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import LOWEST, add, number_of, scale, settled
from strukt.structures.pcfg.gpu_products import numbers_at


@triton.jit
def spans_of(width, starts, lengths, batch, labels, R: tl.constexpr, C: tl.constexpr):
    """Return a tile of spans of a width: rows, items, starts, labels, and a mask of the labelled spans that exist.

    The grid of programs is (tiles of spans, tiles of labels).
    """
    row = tl.program_id(0) * R + tl.arange(0, R)
    label = tl.program_id(1) * C + tl.arange(0, C)
    item, start = (row // starts).to(tl.int64), (row % starts).to(tl.int64)
    live = row < batch * starts
    live = live & (start + width <= tl.load(lengths + item, live, 0))
    return row.to(tl.int64), item, start, label, live[:, None] & (label < labels)[None, :]


@triton.jit
def places_of(item_step, start_step, first, row_step, item, start, label):
    """Return the indices of the first entries of rows: there is a matrix for each span, a row for each label."""
    return (item * item_step + start * start_step + first)[:, None] + label[None, :] * row_step


@triton.jit
def add_side(total, top, xm, xe, x, x_step, wm, we, w, w_step, depth, live, K: tl.constexpr):
    """Add the sum over k of the products of the numbers at ``x + k * x_step`` and ``w + k * w_step``; not settled.

    The tile ``total`` has a row for each span and a column for each label, as has ``live``, the mask of those that
    exist. The indices ``x`` have one column. K is the number of terms at a time.
    """
    some = tl.max(live.to(tl.int32), 1)[:, None, None] > 0
    for begin in range(0, depth, K):
        k = (begin + tl.arange(0, K))[None, None, :]
        left, power = numbers_at(xm, xe, x[:, :, None] + k * x_step, some & (k < depth))
        right, more = numbers_at(wm, we, w[:, :, None] + k * w_step, live[:, :, None] & (k < depth))
        higher = tl.maximum(top, tl.max(power + more, 2))
        total = total * scale(top - higher, total)
        total += tl.sum(left * right * scale(power + more - higher[:, :, None], total), 2)
        top = higher
    return total, top


@triton.jit
def add_sides(
    total, top, am, ae, a_item, a_start, a_first, a_row, a_step, bm, be, b_item, b_start, b_first, b_row, b_step,
    left_depth, cm, ce, c_item, c_start, c_first, c_row, c_step, dm, de, d_item, d_start, d_first, d_row, d_step,
    right_depth, item, start, label, live, K: tl.constexpr,
):  # fmt: skip
    """Add two products of a row and a matrix to the numbers of each span: row a times matrix b, and c times d.

    The strides are those of `gpu_products.multiply`. The sums are not settled.
    """
    one = tl.zeros([1], tl.int32)
    total, top = add_side(
        total, top, am, ae, places_of(a_item, a_start, a_first, a_row, item, start, one), a_step,
        bm, be, places_of(b_item, b_start, b_first, b_row, item, start, label), b_step, left_depth, live, K
    )  # fmt: skip
    return add_side(
        total, top, cm, ce, places_of(c_item, c_start, c_first, c_row, item, start, one), c_step,
        dm, de, places_of(d_item, d_start, d_first, d_row, item, start, label), d_step, right_depth, live, K
    )  # fmt: skip


@triton.jit
def sum_of_parts(mantissas, exponents, place, parts, part, live, R: tl.constexpr, C: tl.constexpr):
    """Return the unsettled sums over ``parts`` numbers that are ``part`` apart in memory."""
    total, top = tl.zeros([R, C], mantissas.dtype.element_ty), tl.full([R, C], LOWEST, tl.int32)
    for _ in range(parts):
        mantissa, exponent = numbers_at(mantissas, exponents, place, live)
        total, top = add(total, top, mantissa, exponent)
        place += part
    return total, top


@triton.jit
def weights_of(spans, item_step, start_step, end_step, label_step, item, start, width, label, on):
    """Return the exponentials of the scores of a tile of spans, as mantissas and exponents ``(R, C)``.

    They are 1 where ``on (R, C)`` is False. ``item`` and ``start`` are ``(R,)``, ``label`` is ``(C,)``; see
    `spans_of`.
    """
    place = item * item_step + start * start_step + (start + width) * end_step
    return number_of(tl.load(spans + place[:, None] + label[None, :] * label_step, on, 0.0))


@triton.jit(
    do_not_specialize=[
        "a_first", "b_first", "left_depth", "c_first", "d_first", "right_depth", "batch", "width", "starts",
        "parts", "part",
    ]
)  # fmt: skip
def close(
    am, ae, a_item, a_start, a_first, a_row, a_step, bm, be, b_item, b_start, b_first, b_row, b_step, left_depth,
    cm, ce, c_item, c_start, c_first, c_row, c_step, dm, de, d_item, d_start, d_first, d_row, d_step, right_depth,
    spans, item_step, start_step, end_step, label_step, lengths, batch, size, labels, width, starts, chart_m,
    chart_e, sm, se, parts, part, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the numbers of spans of a width, from the sums over their children.

    Args:
        am, ae, a_item, a_start, a_first, a_row, a_step: The left children beside a word; see `add_sides`.
        bm, be, b_item, b_start, b_first, b_row, b_step: The matrices of the rules with this word.
        left_depth: The number of labels of left children.
        cm, ce, c_item, c_start, c_first, c_row, c_step: The right children beside a word.
        dm, de, d_item, d_start, d_first, d_row, d_step, right_depth: The rules and the number of labels for these.
        spans, item_step, start_step, end_step, label_step: The scores of spans, and their strides.
        lengths: ``(batch,)``.
        batch, size, labels: The sizes of the axes of the chart.
        width, starts: The width, and the number of spans of this width.
        chart_m, chart_e: The chart ``(batch, size, size, labels)``.
        sm, se, parts, part: The sums over two nonterminals, ``(parts, batch, starts, labels)``, and a part's size.
    """
    row, item, start, label, live = spans_of(width, starts, lengths, batch, labels, R, C)
    factor, power = weights_of(
        spans, item_step, start_step, end_step, label_step, item, start, width, label, live
    )
    place = (row * labels)[:, None] + label[None, :]
    total, top = sum_of_parts(sm, se, place, parts, part, live, R, C)
    total, top = add_sides(
        total, top, am, ae, a_item, a_start, a_first, a_row, a_step, bm, be, b_item, b_start, b_first, b_row,
        b_step, left_depth, cm, ce, c_item, c_start, c_first, c_row, c_step, dm, de, d_item, d_start, d_first,
        d_row, d_step, right_depth, item, start, label, live, K,
    )  # fmt: skip
    total, top = settled(total, top)
    total, top = settled(total * factor, top + power)
    cell = (((item * size + start) * size + start + width) * labels)[:, None] + label[None, :]
    tl.store(chart_m + cell, total, live)
    tl.store(chart_e + cell, top, live)
