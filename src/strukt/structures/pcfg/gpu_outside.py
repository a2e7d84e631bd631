"""The first step of the outside pass of a grammar in Triton: the derivatives for all spans of a width."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import LOWEST, add, settled
from strukt.structures.pcfg.gpu_inside import add_sides, spans_of, weights_of
from strukt.structures.pcfg.gpu_products import numbers_at, plain


@triton.jit
def add_above(lm, le, rm, re, cell, live, tops_m, tops_e, topmost, whole):
    """Return the unsettled sum of derivatives for spans as left children, right children, and whole items."""
    total, top = numbers_at(lm, le, cell, live)
    mantissa, exponent = numbers_at(rm, re, cell, live)
    total, top = add(total, top, mantissa, exponent)
    mantissa, exponent = numbers_at(tops_m, tops_e, topmost, whole)
    return add(total, top, mantissa, exponent)


@triton.jit(
    do_not_specialize=[
        "a_first", "b_first", "left_depth", "c_first", "d_first", "right_depth", "batch", "width", "starts",
    ]
)  # fmt: skip
def slopes(
    am, ae, a_item, a_start, a_first, a_row, a_step, bm, be, b_item, b_start, b_first, b_row, b_step, left_depth,
    cm, ce, c_item, c_start, c_first, c_row, c_step, dm, de, d_item, d_start, d_first, d_row, d_step, right_depth,
    spans, item_step, start_step, end_step, label_step, lengths, batch, size, labels, width, starts, chart_m,
    chart_e, lm, le, rm, re, tops_m, tops_e, sums_m, sums_e, slopes_m, slopes_e, marginals, all_labels, R:
    tl.constexpr, C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the marginals of labelled spans of a width, and the derivatives for the sums over their children.

    All are derivatives of the log-partition, times the factor of each item.

    Args:
        am, ae, a_item, a_start, a_first, a_row, a_step: The derivatives for the parents that add a word on the
            left.
        bm, be, b_item, b_start, b_first, b_row, b_step: The matrices of the rules with this word.
        left_depth: The number of labels of parents.
        cm, ce, c_item, c_start, c_first, c_row, c_step: The derivatives for the parents that add a word on the
            right.
        dm, de, d_item, d_start, d_first, d_row, d_step, right_depth: The rules and the number of labels for these.
        spans, item_step, start_step, end_step, label_step, lengths, batch, size, labels, width, starts: As in
            `gpu_inside.close`.
        chart_m, chart_e: The inside chart.
        lm, le, rm, re: The derivatives through all other parents, for spans as left and as right children; in the
            shape of the chart.
        tops_m, tops_e: ``(batch, labels)``, the derivatives for the labels of whole items.
        sums_m, sums_e: The derivatives for the sums over children, in the shape of the chart.
        slopes_m, slopes_e: ``(batch, starts, labels)``, a copy of these for this width; 0 beyond the end of an
            item.
        marginals: ``(batch, size, size, all_labels)``.
        all_labels: The number of nonterminals and preterminals.
    """
    row, item, start, label, live = spans_of(width, starts, lengths, batch, labels, R, C)
    factor, power = weights_of(
        spans, item_step, start_step, end_step, label_step, item, start, width, label, live
    )
    span = (item * size + start) * size + start + width
    cell = (span * labels)[:, None] + label[None, :]
    whole = (start == 0) & (width == tl.load(lengths + item, row < batch * starts, 0))
    whole, topmost = live & whole[:, None], (item * labels)[:, None] + label[None, :]
    total, top = add_above(lm, le, rm, re, cell, live, tops_m, tops_e, topmost, whole)
    total, top = add_sides(
        total, top, am, ae, a_item, a_start, a_first, a_row, a_step, bm, be, b_item, b_start, b_first, b_row,
        b_step, left_depth, cm, ce, c_item, c_start, c_first, c_row, c_step, dm, de, d_item, d_start, d_first,
        d_row, d_step, right_depth, item, start, label, live, K,
    )  # fmt: skip
    total, top = settled(total, top)
    inside, inside_power = numbers_at(chart_m, chart_e, cell, live)
    place = (span * all_labels)[:, None] + label[None, :]
    tl.store(marginals + place, plain(total * inside, top + inside_power), live)
    total, top = settled(tl.where(inside != 0.0, total * factor, 0.0), top + power)
    place = (row * labels)[:, None] + label[None, :]
    within = (row < batch * starts)[:, None] & (label < labels)[None, :]
    store_slopes(total, top, sums_m, sums_e, cell, live, slopes_m, slopes_e, place, within)


@triton.jit
def store_slopes(total, top, sums_m, sums_e, cell, live, slopes_m, slopes_e, place, within):
    """Store numbers in a chart, and also in an array of the spans of one width, 0 where there is no span."""
    tl.store(sums_m + cell, total, live)
    tl.store(sums_e + cell, top, live)
    tl.store(slopes_m + place, tl.where(live, total, 0.0), within)
    tl.store(slopes_e + place, tl.where(live, top, LOWEST), within)
