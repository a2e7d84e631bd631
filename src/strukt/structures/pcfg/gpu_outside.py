"""The first step of the outside pass of a grammar in Triton: the derivatives of all spans of a width."""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import LOWEST, add, settled
from strukt.structures.pcfg.gpu_inside import spans_of, sum_of_parts, weights_of
from strukt.structures.pcfg.gpu_products import numbers_at, plain


@triton.jit(do_not_specialize=["parts", "part", "batch", "width", "starts"])
def slopes(
    sm, se, parts, part, spans, item_step, start_step, end_step, label_step, lengths, cm, ce, lm, le, rm, re,
    tops_m, tops_e, gm, ge, slopes_m, slopes_e, marginals, all_labels, batch, size, labels, width, starts,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the expected labels of spans of a width, and the derivatives of the sums over their children.

    All derivatives are those of the log-partition, times the factor of each item.

    Args:
        sm, se, parts, part: The derivatives through parents with a word as the other child.
        spans, item_step, start_step, end_step, label_step, lengths, cm, ce: As in `gpu_inside.close`.
        lm, le, rm, re: The derivatives through all other parents, as left and as right children: charts.
        tops_m, tops_e: The derivatives of the labels of whole items ``(batch, labels)``.
        gm, ge: The chart of the derivatives of the sums.
        slopes_m, slopes_e: These for the spans of this width ``(batch, starts, labels)``, 0 if beyond an item.
        marginals: ``(batch, size, size, all_labels)``.
        all_labels, batch, size, labels, width, starts: The sizes; ``labels`` are those of nonterminals.
    """
    row, item, start, label, live = spans_of(width, starts, lengths, batch, labels, R, C)
    factor, power = weights_of(
        spans, item_step, start_step, end_step, label_step, item, start, width, label, live
    )
    span = (item * size + start) * size + start + width
    cell = (span * labels)[:, None] + label[None, :]
    place = (row * labels)[:, None] + label[None, :]
    total, top = sum_of_parts(sm, se, parts, part, place, live, factor)
    mantissa, exponent = numbers_at(lm, le, cell, live)
    total, top = add(total, top, mantissa, exponent)
    mantissa, exponent = numbers_at(rm, re, cell, live)
    total, top = add(total, top, mantissa, exponent)
    whole = (start == 0) & (width == tl.load(lengths + item, row < batch * starts, 0))
    mantissa, exponent = numbers_at(
        tops_m, tops_e, (item * labels)[:, None] + label[None, :], live & whole[:, None]
    )
    total, top = add(total, top, mantissa, exponent)
    total, top = settled(total, top)
    inside, inside_power = numbers_at(cm, ce, cell, live)
    place_of_marginals = (span * all_labels)[:, None] + label[None, :]
    tl.store(marginals + place_of_marginals, plain(total * inside, top + inside_power), live)
    total, top = settled(tl.where(inside != 0.0, total * factor, 0.0), top + power)
    tl.store(gm + cell, total, live)
    tl.store(ge + cell, top, live)
    within = (row < batch * starts)[:, None] & (label < labels)[None, :]
    tl.store(slopes_m + place, tl.where(live, total, 0.0), within)
    tl.store(slopes_e + place, tl.where(live, top, LOWEST), within)
