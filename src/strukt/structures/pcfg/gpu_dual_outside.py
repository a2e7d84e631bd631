"""The first step of an outside pass with derivatives along a direction in Triton; see `gpu_outside`."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import add
from strukt.structures.pcfg.gpu_dual_inside import add_dual_sides, directions_of, weigh
from strukt.structures.pcfg.gpu_inside import spans_of, weights_of
from strukt.structures.pcfg.gpu_outside import add_above, store_slopes
from strukt.structures.pcfg.gpu_products import numbers_at, plain


@triton.jit(
    do_not_specialize=[
        "a_first", "b_first", "left_depth", "c_first", "d_first", "right_depth", "batch", "width", "starts",
    ]
)  # fmt: skip
def slopes(
    am, ae, a_dm, a_de, a_item, a_start, a_first, a_row, a_step, bm, be, b_dm, b_de, b_item, b_start, b_first,
    b_row, b_step, left_depth, cm, ce, c_dm, c_de, c_item, c_start, c_first, c_row, c_step, dm, de, d_dm, d_de,
    d_item, d_start, d_first, d_row, d_step, right_depth, spans, item_step, start_step, end_step, label_step,
    directions, to_item, to_start, to_end, to_label, lengths, batch, size, labels, width, starts, chart_m, chart_e,
    chart_dm, chart_de, lm, le, l_dm, l_de, rm, re, r_dm, r_de, tops_m, tops_e, tops_dm, tops_de, sums_m, sums_e,
    sums_dm, sums_de, slopes_m, slopes_e, slopes_dm, slopes_de, changes, all_labels, R: tl.constexpr,
    C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the moves of the marginals of spans of a width, and the derivatives for the sums over their children.

    Arguments are as in `gpu_outside.slopes`. Those that end in ``_dm`` and ``_de`` are moves; ``directions`` are
    the directions of the scores of spans, with four strides. The moves of marginals are written to ``changes``.
    """
    row, item, start, label, live = spans_of(width, starts, lengths, batch, labels, R, C)
    span = (item * size + start) * size + start + width
    cell = (span * labels)[:, None] + label[None, :]
    whole = (start == 0) & (width == tl.load(lengths + item, row < batch * starts, 0))
    whole, topmost = live & whole[:, None], (item * labels)[:, None] + label[None, :]
    total, top = add_above(lm, le, rm, re, cell, live, tops_m, tops_e, topmost, whole)
    move, move_top = add_above(l_dm, l_de, r_dm, r_de, cell, live, tops_dm, tops_de, topmost, whole)
    total, top, move, move_top = add_dual_sides(
        total, top, move, move_top, am, ae, a_dm, a_de, a_item, a_start, a_first, a_row, a_step, bm, be, b_dm,
        b_de, b_item, b_start, b_first, b_row, b_step, left_depth, cm, ce, c_dm, c_de, c_item, c_start, c_first,
        c_row, c_step, dm, de, d_dm, d_de, d_item, d_start, d_first, d_row, d_step, right_depth, item, start,
        label, live, K,
    )  # fmt: skip
    inside, inside_top = numbers_at(chart_m, chart_e, cell, live)
    inside_move, inside_move_top = numbers_at(chart_dm, chart_de, cell, live)
    change, change_top = add(move * inside, move_top + inside_top, total * inside_move, top + inside_move_top)
    tl.store(changes + (span * all_labels)[:, None] + label[None, :], plain(change, change_top), live)
    factor, power = weights_of(
        spans, item_step, start_step, end_step, label_step, item, start, width, label, live
    )
    direction = directions_of(
        directions, to_item, to_start, to_end, to_label, item, start, width, label, live, factor
    )
    some = inside != 0.0
    total, top, move, move_top = weigh(
        tl.where(some, total, 0.0), top, tl.where(some, move, 0.0), move_top, factor, power, direction
    )
    place = (row * labels)[:, None] + label[None, :]
    within = (row < batch * starts)[:, None] & (label < labels)[None, :]
    store_slopes(total, top, sums_m, sums_e, cell, live, slopes_m, slopes_e, place, within)
    store_slopes(move, move_top, sums_dm, sums_de, cell, live, slopes_dm, slopes_de, place, within)
