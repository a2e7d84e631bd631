"""Triton kernels of log-partitions and marginals: one Triton program for each item, barriers between stages.

Kernels of tables share the names of their arguments:

- ``rows``, ``stages``, ``ends``, ``leaves``, ``same``, ``starts`` and ``runs`` are the arrays of `tables.Table`,
  each followed by its number of columns where that is needed: ``count``, ``stage_count``, ``end_count`` and so on.
- ``sizes (batch,)`` are the indices of the sizes of the items in ``ends``, below 0 for empty ones; ``size`` is
  that of one item.
- A pair of names in m and e holds mantissas and exponents: of the weights, ``wm`` and ``we (batch, weights)``, and
  of the cells ``(batch, cells)``: ``vm`` and ``ve`` for inside sums, ``gm`` and ``ge`` for outside sums times the
  weight of the row that makes the cell, ``bm`` and ``be`` for those without it. ``step`` and ``power_step`` are
  the strides of items in these.
- ``live`` and ``on`` are masks of rows and of terms.
- B rows, or cells, and K terms of each are one tile, transposed if TALL; C cells are filled at a time.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.launching import for_all_sizes
from strukt.kernels.engine.gpu.numbers import (
    LOWEST,
    add,
    load_number,
    log,
    of_item,
    ratio,
    settled,
    sum_terms,
)


@triton.jit
def barrier():
    """Wait until all stores of the program are visible to its loads."""
    tl.debug_barrier()


@triton.jit
def fill(values, count, value, B: tl.constexpr):
    """Fill ``values (count,)`` with one value."""
    for start in range(0, count, B):
        x = start + tl.arange(0, B)
        tl.store(values + x, tl.full([B], value, values.dtype.element_ty), x < count)


@triton.jit
def clear(mantissas, exponents, cells, B: tl.constexpr):
    """Set the numbers of all cells of an item to 0."""
    fill(mantissas, cells, 0.0, B)
    fill(exponents, cells, LOWEST, B)


@triton.jit
def row_of(rows, count, s, live, size):
    """Return a mask of the rows s that an item of a size needs, and their columns.

    These are out, mirror, left, right, count, weight and each (see `Program`). Rows masked off have count 0.
    """
    live = live & (tl.load(rows + 7 * count + s, live, 0) <= size)
    return (
        live, tl.load(rows + s, live, 0), tl.load(rows + count + s, live, 0),
        tl.load(rows + 2 * count + s, live, 0), tl.load(rows + 3 * count + s, live, -1),
        tl.load(rows + 4 * count + s, live, 0), tl.load(rows + 5 * count + s, live, -1),
        tl.load(rows + 6 * count + s, live, -1),
    )  # fmt: skip


@triton.jit
def end_of(ends, sizes, size):
    """Return, for a size, the columns of ``ends``: left, right and count of its total, and its number of stages.

    The last two are 0 for an empty item.
    """
    at = tl.maximum(size, 0)
    some = size >= 0
    return (
        tl.load(ends + at), tl.load(ends + sizes + at), tl.where(some, tl.load(ends + 2 * sizes + at), 0),
        tl.where(some, tl.load(ends + 3 * sizes + at), 0),
    )  # fmt: skip


@triton.jit
def total_of(vm, ve, left, right, count, K: tl.constexpr):
    """Return the total of an item as mantissa and exponent, ``(1,)`` each; 1 for an empty item (count 0)."""
    one = tl.zeros([1], tl.int32)
    mantissa, exponent = sum_terms(
        vm, ve, one + left, one + 1, vm, ve, one + right, one + 1, vm, ve, one - 1, one, one + count, count, K,
        False
    )
    mantissa = tl.where(count == 0, 1.0, mantissa)
    return settled(mantissa.to(vm.dtype.element_ty), tl.where(count == 0, 0, exponent))


@for_all_sizes
def inside(
    rows, count, stages, stage_count, ends, end_count, leaves, leaf_count, sizes, wm, we, vm, ve, log_partitions,
    cells, step, power_step, weights, B: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Fill the cells of each item, ``vm`` and ``ve``, and write ``log_partitions (batch,)``."""
    item = tl.program_id(0).to(tl.int64)
    vm, ve = of_item(vm, ve, item, step, power_step)
    wm, we = of_item(wm, we, item, weights, weights)
    size = tl.load(sizes + item).to(tl.int32)
    left, right, terms, last_stage = end_of(ends, end_count, size)
    clear(vm, ve, cells, C)
    barrier()
    for start in range(0, leaf_count, C):
        x = start + tl.arange(0, C)
        leaf = tl.load(leaves + x, x < leaf_count, 0)
        tl.store(vm + leaf, tl.full([C], 1.0, vm.dtype.element_ty), x < leaf_count)
        tl.store(ve + leaf, tl.zeros([C], tl.int32), x < leaf_count)
    barrier()
    for t in range(last_stage):
        most = tl.load(stages + stage_count + t)
        last = tl.load(stages + t + 1)
        for start in range(tl.load(stages + t), last, B):
            s = start + tl.arange(0, B)
            live, out, mirror, a, b, n, whole, each = row_of(rows, count, s, s < last, size)
            one = tl.minimum(n, 1)  # a stride hidden from the compiler, which would otherwise spread the loads
            total, top = sum_terms(vm, ve, a, one, vm, ve, b, one, wm, we, each, one, n, most, K, TALL)
            total, top = settled(total, top)
            factor, power = load_number(wm, we, whole, live & (whole >= 0))
            total, top = settled(total * factor, top + power)
            tl.store(vm + out, total, live)
            tl.store(ve + out, top, live)
            tl.store(vm + mirror, total, live)
            tl.store(ve + mirror, top, live)
        barrier()
    total, top = total_of(vm, ve, left, right, terms, K)
    tl.store(log_partitions + item + tl.zeros([1], tl.int32), log(total, top).to(log_partitions.dtype.element_ty))


@triton.jit
def seed(vm, ve, gm, ge, same, left, right, terms, K: tl.constexpr):
    """Set the outside sum of each cell in the total to the other factor of its term there, 1 if it has none."""
    for start in range(0, terms, K):
        k = start + tl.arange(0, K)
        on = k < terms
        both = on & (k * 0 + right >= 0)
        by, power = load_number(vm, ve, right + k, both)
        cell = tl.load(same + left + k, on, 0)
        tl.store(gm + cell, by.to(gm.dtype.element_ty), on)
        tl.store(ge + cell, power, on)
        cell = tl.load(same + right + k, both, 0)
        by, power = load_number(vm, ve, left + k, on)
        tl.store(gm + cell, by, both)
        tl.store(ge + cell, power, both)


@triton.jit
def add_uses(
    starts, runs, run_count, x, live, most_runs, longest, longest_step, am, ae, bm, be, cm, ce, total, top,
    K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Add to a number, for each cell or weight x, all terms with the factor x, without this factor.

    In its place, a term has the outside sum of its row as a factor, from (am, ae); the numbers of the other two
    factors are (bm, be) and (cm, ce). ``longest`` points to the longest of the first runs of x, followed by that
    of the second ones, and so on, in steps of ``longest_step``. The sums are not settled.
    """
    first, last = tl.load(starts + x, live, 0), tl.load(starts + x + 1, live, 0)
    for j in range(0, most_runs):
        on = live & (first + j < last)
        run = runs + first + j
        mantissa, exponent = sum_terms(
            am, ae, tl.load(run, on, 0), tl.load(run + run_count, on, 0), bm, be,
            tl.load(run + 2 * run_count, on, -1), tl.load(run + 3 * run_count, on, 0), cm, ce,
            tl.load(run + 4 * run_count, on, -1), tl.load(run + 5 * run_count, on, 0),
            tl.load(run + 6 * run_count, on, 0), tl.load(longest + j * longest_step), K, TALL,
        )  # fmt: skip
        total, top = add(total, top, mantissa, exponent)
    return total, top


@for_all_sizes
def outside(
    rows, count, stages, stage_count, ends, end_count, same, starts, runs, run_count, sizes, wm, we, vm, ve, gm,
    ge, bm, be, factors, parts, cells, step, power_step, weights, KEEP: tl.constexpr, B: tl.constexpr,
    K: tl.constexpr, TALL: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write outside sums of cells: with the weight of their row to ``gm`` and ``ge``; if KEEP, also without it.

    The latter go to ``bm`` and ``be``. ``parts (batch, weights)`` gets the use of the weight of each row, times
    the factor of the item from ``factors (batch,)``, and 0 for all other weights, or if the total is 0.
    `weights_of_terms` adds the uses of the weights of single terms.
    """
    item = tl.program_id(0).to(tl.int64)
    vm, ve = of_item(vm, ve, item, step, power_step)
    gm, ge = of_item(gm, ge, item, step, power_step)
    bm, be = of_item(bm, be, item, step, power_step)
    wm, we = of_item(wm, we, item, weights, weights)
    parts += item * weights
    size = tl.load(sizes + item).to(tl.int32)
    left, right, terms, last_stage = end_of(ends, end_count, size)
    all_weight, all_power = total_of(vm, ve, left, right, terms, K)
    factor = tl.load(factors + item).to(vm.dtype.element_ty)
    clear(gm, ge, cells, C)
    fill(parts, weights, 0.0, C)
    barrier()
    if tl.max(all_weight, 0) != 0.0:
        seed(vm, ve, gm, ge, same, left, right, terms, K)
        barrier()
        for i in range(last_stage):
            t = last_stage - 1 - i
            most_runs, longest = tl.load(stages + 2 * stage_count + t), stages + 3 * stage_count + t
            last = tl.load(stages + t + 1)
            for start in range(tl.load(stages + t), last, B):
                s = start + tl.arange(0, B)
                live, out, mirror, a, b, n, whole, each = row_of(rows, count, s, s < last, size)
                total, top = tl.load(gm + out, live, 0.0), tl.load(ge + out, live, LOWEST)
                total, top = add_uses(
                    starts, runs, run_count, out, live, most_runs, longest, stage_count, gm, ge, vm, ve, wm,
                    we, total, top, K, TALL
                )
                total, top = settled(total, top)
                if KEEP:
                    tl.store(bm + out, total, live)
                    tl.store(be + out, top, live)
                value, value_power = tl.load(vm + out, live, 0.0), tl.load(ve + out, live, LOWEST)
                use = tl.where(total == 0.0, 0.0, total * value)
                share = ratio(use, top + value_power, all_weight, all_power)
                tl.store(parts + whole, factor * share, live & (whole >= 0))
                times, power = load_number(wm, we, whole, live & (whole >= 0))
                total, top = settled(tl.where(total == 0.0, 0.0, total * times), top + power)
                tl.store(gm + out, total, live)
                tl.store(ge + out, top, live)
                tl.store(gm + mirror, total, live)
                tl.store(ge + mirror, top, live)
            barrier()


@for_all_sizes
def weights_of_terms(
    ends, end_count, starts, runs, run_count, order, used, most_runs, longest, tiles, sizes, wm, we, vm, ve, gm,
    ge, factors, parts, step, power_step, weights, B: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Add the uses of the weights of single terms to ``parts``; the grid is (items, blocks of weights).

    ``order (used,)`` are these weights, and ``longest (most_runs, tiles)`` are `Table.weight_longest`.
    """
    item = tl.program_id(0).to(tl.int64)
    vm, ve = of_item(vm, ve, item, step, power_step)
    gm, ge = of_item(gm, ge, item, step, power_step)
    wm, we = of_item(wm, we, item, weights, weights)
    parts += item * weights
    size = tl.load(sizes + item).to(tl.int32)
    left, right, terms, _ = end_of(ends, end_count, size)
    all_weight, all_power = total_of(vm, ve, left, right, terms, K)
    place = tl.program_id(1) * B + tl.arange(0, B)
    live = place < used
    x = tl.load(order + place, live, 0)
    total, top = tl.zeros([B], vm.dtype.element_ty), tl.full([B], LOWEST, tl.int32)
    total, top = add_uses(
        starts, runs, run_count, x, live, most_runs, longest + tl.program_id(1), tiles, gm, ge, vm, ve, vm, ve,
        total, top, K, TALL
    )
    total, top = settled(total, top)
    times, power = load_number(wm, we, x, live)
    use = tl.where(total == 0.0, 0.0, total * times)
    share = ratio(use, top + power, all_weight, all_power)
    use = tl.load(parts + x, live, 0.0) + tl.load(factors + item).to(share.dtype) * share
    tl.store(parts + x, use, live)
