"""Triton kernels of derivatives along directions, and of entropies: the growth of cells, inside and outside.

The *growth* of a cell is the derivative of the log of its total along directions of the logs of the weights. For
entropies, each choice of a term adds its surprise, -log of its share; shares under other scores, whose cells and
weights have names that begin with q, yield the cross-entropy. Derivatives are small differences between sums,
hence float64. Arguments that a docstring does not describe are those of `inside_outside`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import add_uses, barrier, end_of, fill, row_of, total_of
from strukt.kernels.engine.gpu.launching import for_all_sizes
from strukt.kernels.engine.gpu.numbers import (
    LOWEST,
    add_share,
    beside,
    load_number,
    load_plain,
    mean_of,
    of_item,
    of_rest,
    product,
    ratio,
    run_of,
    settled,
    surprise,
    terms_from,
    total_of_terms,
    without,
)

DOMINANT = tl.constexpr(0.75)
"""The share above which a surprise is computed from the other terms; not 0.5, which two can exceed by rounding."""


@triton.jit
def mean_growth(
    vm, ve, wm, we, qm, qe, qwm, qwe, growth, direction, a, b, c, count, most, base, base_exponent, q_base,
    q_base_exponent, SURPRISE: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Return, for each row, the mean growth of the factors of its terms, and the surprise of a dominant term.

    The runs begin at a, b and c; ``base`` is the sum of the terms, ``q_base`` that under the other scores.
    """
    one = tl.minimum(count, 1)  # see `inside_outside.inside`
    dominant, rest = tl.zeros_like(base), tl.zeros_like(base)
    mean, total_share = tl.zeros(base.shape, tl.float64), tl.zeros(base.shape, tl.float64)
    for start in range(0, most, K):
        k = terms_from(start, K, TALL)
        on = k < beside(count, TALL)
        at_a, at_b, at_c = run_of(a, k, one, TALL), run_of(b, k, one, TALL), run_of(c, k, one, TALL)
        mantissa, exponent = product(vm, ve, at_a, vm, ve, at_b, wm, we, at_c, on)
        share = ratio(mantissa, exponent, beside(base, TALL), beside(base_exponent, TALL))
        gain = load_plain(growth, at_a, on) + load_plain(growth, at_b, on)
        gain += load_plain(direction, at_c, on)
        if SURPRISE:
            mantissa, exponent = product(qm, qe, at_a, qm, qe, at_b, qwm, qwe, at_c, on)
            theirs = ratio(mantissa, exponent, beside(q_base, TALL), beside(q_base_exponent, TALL))
            large = theirs > DOMINANT
            rest += total_of_terms(tl.where(large, 0.0, theirs), TALL)
            dominant += total_of_terms(tl.where(large, share, 0.0), TALL)
            surprises = surprise(mantissa, exponent, beside(q_base, TALL), beside(q_base_exponent, TALL))
            gain += tl.where(large, 0.0, surprises)
        mean, total_share = add_share(mean, total_share, share, gain, TALL)
    if SURPRISE:
        rest = of_rest(tl.minimum(rest, 0.5))
        mean += tl.where(dominant > 0.0, dominant * rest, 0.0)
    return mean_of(mean, total_share), rest


@for_all_sizes
def inside(
    rows, count, stages, stage_count, ends, end_count, sizes, wm, we, vm, ve, qwm, qwe, qm, qe, jm, je, direction,
    growth, rest, total_growth, cells, step, power_step, weights, SURPRISE: tl.constexpr, B: tl.constexpr,
    K: tl.constexpr, TALL: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write ``growth (batch, cells)``, and that of the total of each item, ``total_growth (batch,)``.

    For surprises under the cells ``qm`` and weights ``qwm``, also write the sums of their rows, ``jm``, and the
    surprise of the dominant term of each row, ``rest``.
    """
    item = tl.program_id(0).to(tl.int64)
    vm, ve = of_item(vm, ve, item, step, power_step)
    qm, qe = of_item(qm, qe, item, step, power_step)
    jm, je = of_item(jm, je, item, step, power_step)
    wm, we = of_item(wm, we, item, weights, weights)
    qwm, qwe = of_item(qwm, qwe, item, weights, weights)
    direction += item * weights
    growth += item * cells
    rest += item * cells
    size = tl.load(sizes + item).to(tl.int32)
    left, right, terms, last_stage = end_of(ends, end_count, size)
    fill(growth, cells, 0.0, C)
    barrier()
    for t in range(last_stage):
        most = tl.load(stages + stage_count + t)
        last = tl.load(stages + t + 1)
        for start in range(tl.load(stages + t), last, B):
            s = start + tl.arange(0, B)
            live, out, mirror, a, b, n, whole, each = row_of(rows, count, s, s < last, size)
            base, base_power = without(vm, ve, wm, we, out, whole, live)
            q_base, q_power = base, base_power
            if SURPRISE:
                q_base, q_power = without(qm, qe, qwm, qwe, out, whole, live)
            mean, spare = mean_growth(
                vm, ve, wm, we, qm, qe, qwm, qwe, growth, direction, a, b, each, n, most, base, base_power, q_base,
                q_power, SURPRISE, K, TALL,
            )  # fmt: skip
            mean += load_plain(direction, whole, live)
            mean = tl.where(base == 0.0, 0.0, mean)
            if SURPRISE:
                tl.store(jm + out, q_base, live)
                tl.store(je + out, q_power, live)
                tl.store(rest + out, spare, live)
                tl.store(jm + mirror, q_base, live)
                tl.store(je + mirror, q_power, live)
                tl.store(rest + mirror, spare, live)
            tl.store(growth + out, mean, live)
            tl.store(growth + mirror, mean, live)
        barrier()
    one = tl.zeros([1], tl.int32)
    base, base_power = total_of(vm, ve, left, right, terms, K)
    q_base, q_power = total_of(qm, qe, left, right, terms, K)
    mean, spare = mean_growth(
        vm, ve, wm, we, qm, qe, qwm, qwe, growth, direction, one + left, one + right, one - 1, one + terms, terms,
        base, base_power, q_base, q_power, SURPRISE, K, False,
    )  # fmt: skip
    tl.store(total_growth + item + one, tl.where(base == 0.0, 0.0, mean))


@triton.jit
def add_growth_of_uses(
    starts, runs, run_count, x, live, most_runs, longest, longest_step, gm, ge, bm, be, cm, ce, around, b_growth,
    c_growth, base, base_exponent, factor, factor_power, qbm, qbe, qcm, qce, jm, je, rest, mean, total_share,
    SURPRISE: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Add, for each cell or weight x, share and share times gain of each term with the factor x.

    Runs and numbers are those of `inside_outside.add_uses`, and shares those in its result ``base``. A gain is the
    growth of the row's outside and the other factors. ``factor`` is the number of x under the other scores.
    """
    first, last = tl.load(starts + x, live, 0), tl.load(starts + x + 1, live, 0)
    for j in range(0, most_runs):
        here = live & (first + j < last)
        run = runs + first + j
        length = tl.load(run + 6 * run_count, here, 0)
        by, by_step = tl.load(run, here, 0), tl.load(run + run_count, here, 0)
        b, b_step = tl.load(run + 2 * run_count, here, -1), tl.load(run + 3 * run_count, here, 0)
        c, c_step = tl.load(run + 4 * run_count, here, -1), tl.load(run + 5 * run_count, here, 0)
        for start in range(0, tl.load(longest + j * longest_step), K):
            k = terms_from(start, K, TALL)
            on = k < beside(length, TALL)
            at, at_b = run_of(by, k, by_step, TALL), run_of(b, k, b_step, TALL)
            at_c = run_of(c, k, c_step, TALL)
            mantissa, exponent = product(gm, ge, at, bm, be, at_b, cm, ce, at_c, on)
            share = ratio(mantissa, exponent, beside(base, TALL), beside(base_exponent, TALL))
            gain = load_plain(around, at, on) + load_plain(b_growth, at_b, on)
            gain += load_plain(c_growth, at_c, on)
            if SURPRISE:
                two, two_power = load_number(qbm, qbe, at_b, on & (at_b >= 0))
                three, three_power = load_number(qcm, qce, at_c, on & (at_c >= 0))
                theirs = beside(factor, TALL) * two * three
                power = beside(factor_power, TALL) + two_power + three_power
                whole, whole_power = tl.load(jm + at, on, 0.0), tl.load(je + at, on, 0)
                large = ratio(theirs, power, whole, whole_power) > DOMINANT
                gain += tl.where(large, tl.load(rest + at, on, 0.0), surprise(theirs, power, whole, whole_power))
            mean, total_share = add_share(mean, total_share, share, gain, TALL)
    return mean, total_share


@triton.jit
def add_growth_of_end(
    vm, ve, qm, qe, growth, out, mirror, live, mine, other, terms, base, base_exponent, q_base, q_power, spare,
    mean, total_share, SURPRISE: tl.constexpr,
):  # fmt: skip
    """Add share and share times gain of the terms of the total to its cells in the run from ``mine`` on."""
    k = tl.where((out >= mine) & (out < mine + terms), out, mirror) - mine
    on = live & (k >= 0) & (k < terms) & (k * 0 + mine >= 0)
    both = on & (k * 0 + other >= 0)
    by, power = load_number(vm, ve, other + k, both)
    share = tl.where(on & (base != 0.0), ratio(by, power, base, base_exponent), 0.0)
    gain = tl.load(growth + other + k, both, 0.0)
    if SURPRISE:
        one, one_power = load_number(qm, qe, mine + k, on)
        two, two_power = load_number(qm, qe, other + k, both)
        large = ratio(one * two, one_power + two_power, q_base, q_power) > DOMINANT
        gain += tl.where(large, spare, surprise(one * two, one_power + two_power, q_base, q_power))
    return mean + tl.where(share > 0.0, share * gain, 0.0), total_share + share


@for_all_sizes
def outside(
    rows, count, stages, stage_count, ends, end_count, starts, runs, run_count, sizes, wm, we, vm, ve, gm,
    ge, bm, be, qwm, qwe, qm, qe, jm, je, direction, growth, rest, around, parts, changes, cells, step, power_step,
    weights, SURPRISE: tl.constexpr, B: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the derivative ``changes`` of the uses ``parts`` of the weight of each row, both ``(batch, weights)``.

    Numbers are the results of `inside_outside.outside`, growths those of `inside`; ``around (batch, cells)`` gets
    the growth of the outside sum of each cell, times the weight of its row.
    """
    item = tl.program_id(0).to(tl.int64)
    vm, ve = of_item(vm, ve, item, step, power_step)
    gm, ge = of_item(gm, ge, item, step, power_step)
    bm, be = of_item(bm, be, item, step, power_step)
    qm, qe = of_item(qm, qe, item, step, power_step)
    jm, je = of_item(jm, je, item, step, power_step)
    wm, we = of_item(wm, we, item, weights, weights)
    qwm, qwe = of_item(qwm, qwe, item, weights, weights)
    direction += item * weights
    parts += item * weights
    changes += item * weights
    growth += item * cells
    rest += item * cells
    around += item * cells
    size = tl.load(sizes + item).to(tl.int32)
    left, right, terms, last_stage = end_of(ends, end_count, size)
    fill(around, cells, 0.0, C)
    fill(changes, weights, 0.0, C)
    barrier()
    one = tl.zeros([1], tl.int32)
    base, base_power = total_of(vm, ve, left, right, terms, K)
    q_base, q_power = total_of(qm, qe, left, right, terms, K)
    top, spare = mean_growth(
        vm, ve, wm, we, qm, qe, qwm, qwe, growth, direction, one + left, one + right, one - 1, one + terms, terms,
        base, base_power, q_base, q_power, SURPRISE, K, False,
    )  # fmt: skip
    if tl.max(base, 0) != 0.0:
        for i in range(last_stage):
            t = last_stage - 1 - i
            most_runs, longest = tl.load(stages + 2 * stage_count + t), stages + 3 * stage_count + t
            last = tl.load(stages + t + 1)
            for start in range(tl.load(stages + t), last, B):
                s = start + tl.arange(0, B)
                live, out, mirror, a, b, n, whole, each = row_of(rows, count, s, s < last, size)
                total, power = tl.load(bm + out, live, 0.0), tl.load(be + out, live, 0)
                factor, factor_power = tl.load(qm + out, live, 0.0), tl.load(qe + out, live, 0)
                mean, share = tl.zeros([B], tl.float64), tl.zeros([B], tl.float64)
                for side in tl.static_range(2):
                    mine, other = (left, right) if side == 0 else (right, left)
                    mean, share = add_growth_of_end(
                        vm, ve, qm, qe, growth, out, mirror, live, mine, other, terms, total, power, q_base,
                        q_power, spare, mean, share, SURPRISE,
                    )  # fmt: skip
                mean, share = add_growth_of_uses(
                    starts, runs, run_count, out, live, most_runs, longest, stage_count, gm, ge, vm, ve, wm, we,
                    around, growth, direction, total, power, factor, factor_power, qm, qe, qwm, qwe, jm, je, rest,
                    mean, share, SURPRISE, K, TALL,
                )  # fmt: skip
                mean = mean_of(mean, share)
                use = tl.load(parts + whole, live & (whole >= 0), 0.0)
                change = use * (mean + tl.load(growth + out, live, 0.0) - top)
                tl.store(changes + whole, tl.where(use == 0.0, 0.0, change), live & (whole >= 0))
                mean += load_plain(direction, whole, live)
                tl.store(around + out, mean, live)
                tl.store(around + mirror, mean, live)
            barrier()


@for_all_sizes
def weights_of_terms(
    starts, runs, run_count, order, used, most_runs, longest, tiles, vm, ve, gm, ge, qwm, qwe, qm, qe, jm, je,
    direction, growth, rest, around, total_growth, parts, changes, cells, step, power_step, weights,
    SURPRISE: tl.constexpr, B: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Write ``changes`` for the weights of single terms; the grid is (items, blocks of weights)."""
    item = tl.program_id(0).to(tl.int64)
    vm, ve = of_item(vm, ve, item, step, power_step)
    gm, ge = of_item(gm, ge, item, step, power_step)
    qm, qe = of_item(qm, qe, item, step, power_step)
    jm, je = of_item(jm, je, item, step, power_step)
    qwm, qwe = of_item(qwm, qwe, item, weights, weights)
    direction += item * weights
    parts += item * weights
    changes += item * weights
    growth += item * cells
    rest += item * cells
    around += item * cells
    place = tl.program_id(1) * B + tl.arange(0, B)
    live = place < used
    x = tl.load(order + place, live, 0)
    total, power = tl.zeros([B], vm.dtype.element_ty), tl.full([B], LOWEST, tl.int32)
    total, power = add_uses(
        starts, runs, run_count, x, live, most_runs, longest + tl.program_id(1), tiles, gm, ge, vm, ve, vm, ve,
        total, power, K, TALL
    )
    total, power = settled(total, power)
    weight, weight_power = load_number(qwm, qwe, x, live)
    mean, share = tl.zeros([B], tl.float64), tl.zeros([B], tl.float64)
    mean, share = add_growth_of_uses(
        starts, runs, run_count, x, live, most_runs, longest + tl.program_id(1), tiles, gm, ge, vm, ve, vm, ve,
        around, growth, growth, total, power, weight, weight_power, qm, qe, qm, qe, jm, je, rest, mean, share,
        SURPRISE, K, TALL,
    )  # fmt: skip
    use = tl.load(parts + x, live, 0.0)
    change = use * (mean_of(mean, share) + tl.load(direction + x, live, 0.0) - tl.load(total_growth + item))
    tl.store(changes + x, tl.where(use == 0.0, 0.0, change), live)
