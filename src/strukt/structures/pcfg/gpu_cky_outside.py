"""The first step of the outside pass of a grammar with maxima in Triton; see `gpu_outside`."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.structures.pcfg.gpu_cky import raise_side, scores_of
from strukt.structures.pcfg.gpu_inside import places_of, spans_of


@triton.jit(
    do_not_specialize=[
        "a_first", "b_first", "left_depth", "c_first", "d_first", "right_depth", "batch", "width", "starts",
    ]
)  # fmt: skip
def slopes(
    left, a_item, a_start, a_first, a_row, a_step, ending, b_item, b_start, b_first, b_row, b_step, left_depth,
    right, c_item, c_start, c_first, c_row, c_step, starting, d_item, d_start, d_first, d_row, d_step, right_depth,
    spans, item_step, start_step, end_step, label_step, lengths, batch, size, labels, width, starts, chart,
    as_left, as_right, tops, sums, of_width, best, all_labels, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the best score of a tree with each labelled span of a width, and the best scores around its children.

    Arguments are as in `gpu_outside.slopes`, with scores in place of numbers. The best scores of trees are written
    to ``best (batch, size, size, all_labels)``. The best score around the children of a span is the span's best
    outside score plus its own score; these are written to ``sums`` and ``of_width``.
    """
    row, item, start, label, live = spans_of(width, starts, lengths, batch, labels, R, C)
    span = (item * size + start) * size + start + width
    cell = (span * labels)[:, None] + label[None, :]
    whole = (start == 0) & (width == tl.load(lengths + item, row < batch * starts, 0))
    whole, topmost = live & whole[:, None], (item * labels)[:, None] + label[None, :]
    around = tl.load(as_left + cell, live, float("-inf"))
    around = tl.maximum(around, tl.load(as_right + cell, live, float("-inf")))
    around = tl.maximum(around, tl.load(tops + topmost, whole, float("-inf")))
    one = tl.zeros([1], tl.int32)
    around = raise_side(
        around, left, places_of(a_item, a_start, a_first, a_row, item, start, one), a_step, ending,
        places_of(b_item, b_start, b_first, b_row, item, start, label), b_step, left_depth, live,
    )  # fmt: skip
    around = raise_side(
        around, right, places_of(c_item, c_start, c_first, c_row, item, start, one), c_step, starting,
        places_of(d_item, d_start, d_first, d_row, item, start, label), d_step, right_depth, live,
    )  # fmt: skip
    below = tl.load(chart + cell, live, float("-inf"))
    tl.store(best + (span * all_labels)[:, None] + label[None, :], around + below, live)
    around += scores_of(spans, item_step, start_step, end_step, label_step, item, start, width, label, live)
    tl.store(sums + cell, around, live)
    within = (row < batch * starts)[:, None] & (label < labels)[None, :]
    place = (row * labels)[:, None] + label[None, :]
    tl.store(of_width + place, tl.where(live, around, float("-inf")), within)
