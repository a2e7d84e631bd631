"""The last step of an inside pass with derivatives along a direction in Triton; see `gpu_inside`."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import add, settled
from strukt.structures.pcfg.gpu_inside import add_sides, spans_of, sum_of_parts, weights_of
from strukt.structures.pcfg.gpu_moves import times_plain


@triton.jit
def directions_of(
    directions, item_step, start_step, end_step, label_step, item, start, width, label, on, like
):
    """Load the directions of the scores of labelled spans, in the type of ``like``; 0 where ``on`` is False."""
    place = item * item_step + start * start_step + (start + width) * end_step
    return tl.load(directions + place[:, None] + label[None, :] * label_step, on, 0.0).to(like.dtype)


@triton.jit
def weigh(total, top, move, move_top, factor, power, direction):
    """Multiply numbers by the exponentials of scores that move along a direction; return them and their moves.

    All are settled extended numbers. The exponentials have mantissas ``factor`` and exponents ``power``.
    """
    total, top = settled(total * factor, top + power)
    more, more_top = times_plain(total, top, direction)
    move, move_top = settled(move * factor, move_top + power)
    move, move_top = add(move, move_top, more, more_top)
    move, move_top = settled(move, move_top)
    return total, top, move, move_top


@triton.jit
def add_dual_sides(
    total, top, move, move_top, am, ae, a_dm, a_de, a_item, a_start, a_first, a_row, a_step, bm, be, b_dm, b_de,
    b_item, b_start, b_first, b_row, b_step, left_depth, cm, ce, c_dm, c_de, c_item, c_start, c_first, c_row,
    c_step, dm, de, d_dm, d_de, d_item, d_start, d_first, d_row, d_step, right_depth, item, start, label, live,
    K: tl.constexpr,
):  # fmt: skip
    """Add two products of a row and a matrix to the number of each span, and their derivatives to its move.

    Return numbers and moves, settled. Arguments are as in `gpu_inside.add_sides`; those that end in ``_dm`` and
    ``_de`` are moves.
    """
    total, top = add_sides(
        total, top, am, ae, a_item, a_start, a_first, a_row, a_step, bm, be, b_item, b_start, b_first, b_row,
        b_step, left_depth, cm, ce, c_item, c_start, c_first, c_row, c_step, dm, de, d_item, d_start, d_first,
        d_row, d_step, right_depth, item, start, label, live, K,
    )  # fmt: skip
    total, top = settled(total, top)
    move, move_top = add_sides(
        move, move_top, a_dm, a_de, a_item, a_start, a_first, a_row, a_step, bm, be, b_item, b_start, b_first,
        b_row, b_step, left_depth, c_dm, c_de, c_item, c_start, c_first, c_row, c_step, dm, de, d_item, d_start,
        d_first, d_row, d_step, right_depth, item, start, label, live, K,
    )  # fmt: skip
    move, move_top = add_sides(
        move, move_top, am, ae, a_item, a_start, a_first, a_row, a_step, b_dm, b_de, b_item, b_start, b_first,
        b_row, b_step, left_depth, cm, ce, c_item, c_start, c_first, c_row, c_step, d_dm, d_de, d_item, d_start,
        d_first, d_row, d_step, right_depth, item, start, label, live, K,
    )  # fmt: skip
    move, move_top = settled(move, move_top)
    return total, top, move, move_top


@triton.jit(
    do_not_specialize=[
        "a_first", "b_first", "left_depth", "c_first", "d_first", "right_depth", "batch", "width", "starts",
        "parts", "part",
    ]
)  # fmt: skip
def close(
    am, ae, a_dm, a_de, a_item, a_start, a_first, a_row, a_step, bm, be, b_dm, b_de, b_item, b_start, b_first,
    b_row, b_step, left_depth, cm, ce, c_dm, c_de, c_item, c_start, c_first, c_row, c_step, dm, de, d_dm, d_de,
    d_item, d_start, d_first, d_row, d_step, right_depth, spans, item_step, start_step, end_step, label_step,
    directions, to_item, to_start, to_end, to_label, lengths, batch, size, labels, width, starts, chart_m, chart_e,
    chart_dm, chart_de, sm, se, s_dm, s_de, parts, part, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the numbers of spans of a width and their moves, from the sums over their children.

    Arguments are as in `gpu_inside.close`. Those that end in ``_dm`` and ``_de`` are moves; ``directions`` are the
    directions of the scores of spans, with four strides.
    """
    row, item, start, label, live = spans_of(width, starts, lengths, batch, labels, R, C)
    place = (row * labels)[:, None] + label[None, :]
    total, top = sum_of_parts(sm, se, place, parts, part, live, R, C)
    move, move_top = sum_of_parts(s_dm, s_de, place, parts, part, live, R, C)
    total, top, move, move_top = add_dual_sides(
        total, top, move, move_top, am, ae, a_dm, a_de, a_item, a_start, a_first, a_row, a_step, bm, be, b_dm,
        b_de, b_item, b_start, b_first, b_row, b_step, left_depth, cm, ce, c_dm, c_de, c_item, c_start, c_first,
        c_row, c_step, dm, de, d_dm, d_de, d_item, d_start, d_first, d_row, d_step, right_depth, item, start,
        label, live, K,
    )  # fmt: skip
    factor, power = weights_of(
        spans, item_step, start_step, end_step, label_step, item, start, width, label, live
    )
    direction = directions_of(
        directions, to_item, to_start, to_end, to_label, item, start, width, label, live, factor
    )
    total, top, move, move_top = weigh(total, top, move, move_top, factor, power, direction)
    cell = (((item * size + start) * size + start + width) * labels)[:, None] + label[None, :]
    tl.store(chart_m + cell, total, live)
    tl.store(chart_e + cell, top, live)
    tl.store(chart_dm + cell, move, live)
    tl.store(chart_de + cell, move_top, live)
