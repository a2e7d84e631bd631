"""Triton kernels of best structures, of max-marginals, and of samples.

Arguments that a docstring does not describe are those of `strukt.kernels.engine.gpu.inside_outside`. Numbers at
negative indices are left out of sums.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier, end_of, fill, row_of, total_of
from strukt.kernels.engine.gpu.launching import for_all_sizes
from strukt.kernels.engine.gpu.numbers import (
    beside,
    gumbel,
    load_plain,
    most_of_terms,
    of_item,
    product,
    ratio,
    run_of,
    terms_from,
    without,
)


@triton.jit
def with_score(best, scores):
    """Return ``best + scores``; -inf where ``best`` is, as the scores may be padding there."""
    return tl.where(best == float("-inf"), best, best + scores)


@triton.jit
def best_term(as_, bs, cs, a, a_step, b, b_step, c, c_step, count, most, K: tl.constexpr, TALL: tl.constexpr):
    """Return, for each row, the score of its best term, the sum at a, b and c plus k steps; -inf without terms."""
    best = tl.full(count.shape, float("-inf"), as_.dtype.element_ty)
    for start in range(0, most, K):
        k = terms_from(start, K, TALL)
        on = k < beside(count, TALL)
        result = tl.load(as_ + run_of(a, k, a_step, TALL), on, float("-inf"))
        result += load_plain(bs, run_of(b, k, b_step, TALL), on) + load_plain(cs, run_of(c, k, c_step, TALL), on)
        best = tl.maximum(best, most_of_terms(tl.where(on, result, float("-inf")), TALL))
    return best


@for_all_sizes
def inside(
    rows, count, stages, stage_count, ends, end_count, leaves, leaf_count, sizes, weight_scores, values,
    best_scores, cells, weights, B: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the best score of each cell, ``values (batch, cells)``, and of each item, ``best_scores (batch,)``.

    ``weight_scores (batch, weights)`` are the logs of the weights; the other arguments are those of
    `inside_outside.inside`.
    """
    item = tl.program_id(0).to(tl.int64)
    weight_scores += item * weights
    values += item * cells
    size = tl.load(sizes + item).to(tl.int32)
    left, right, terms, last_stage = end_of(ends, end_count, size)
    fill(values, cells, float("-inf"), C)
    barrier()
    for start in range(0, leaf_count, C):
        x = start + tl.arange(0, C)
        leaf = tl.load(leaves + x, x < leaf_count, 0)
        tl.store(values + leaf, tl.zeros([C], values.dtype.element_ty), x < leaf_count)
    barrier()
    for t in range(last_stage):
        most = tl.load(stages + stage_count + t)
        last = tl.load(stages + t + 1)
        for start in range(tl.load(stages + t), last, B):
            s = start + tl.arange(0, B)
            live, out, mirror, a, b, n, whole, each = row_of(rows, count, s, s < last, size)
            one = tl.minimum(n, 1)  # see `inside_outside.inside`
            best = best_term(values, values, weight_scores, a, one, b, one, each, one, n, most, K, TALL)
            best += load_plain(weight_scores, whole, live)
            tl.store(values + out, best, live)
            tl.store(values + mirror, best, live)
        barrier()
    one = tl.zeros([1], tl.int32)
    best = best_term(
        values, values, weight_scores, one + left, one + 1, one + right, one + 1, one - 1, one, one + terms,
        terms, K, TALL
    )
    tl.store(best_scores + item + one, tl.where(terms == 0, 0.0, best))


@triton.jit
def around_uses(
    starts, runs, run_count, x, live, most_runs, longest, longest_step, as_, bs, cs, best, K: tl.constexpr,
    TALL: tl.constexpr,
):  # fmt: skip
    """Raise ``best``, for each x, to the best term with the factor x, without x itself; see `add_uses`."""
    first, last = tl.load(starts + x, live, 0), tl.load(starts + x + 1, live, 0)
    for j in range(0, most_runs):
        on = live & (first + j < last)
        run = runs + first + j
        result = best_term(
            as_, bs, cs, tl.load(run, on, 0), tl.load(run + run_count, on, 0),
            tl.load(run + 2 * run_count, on, -1), tl.load(run + 3 * run_count, on, 0),
            tl.load(run + 4 * run_count, on, -1), tl.load(run + 5 * run_count, on, 0),
            tl.load(run + 6 * run_count, on, 0), tl.load(longest + j * longest_step), K, TALL,
        )  # fmt: skip
        best = tl.maximum(best, result)
    return best


@for_all_sizes
def outside(
    rows, count, stages, stage_count, ends, end_count, same, starts, runs, run_count, sizes, weight_scores, values,
    around, max_marginals, cells, weights, B: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write, for each row's weight, the best score of a structure with it, ``max_marginals (batch, weights)``.

    Best scores of cells are read from ``values``, and their outside scores written to ``around``, both ``(batch,
    cells)``; the other arguments are those of `inside` and `inside_outside.outside`.
    """
    item = tl.program_id(0).to(tl.int64)
    weight_scores += item * weights
    max_marginals += item * weights
    values += item * cells
    around += item * cells
    size = tl.load(sizes + item).to(tl.int32)
    left, right, terms, last_stage = end_of(ends, end_count, size)
    fill(around, cells, float("-inf"), C)
    fill(max_marginals, weights, float("-inf"), C)
    barrier()
    for start in range(0, terms, K):
        k = start + tl.arange(0, K)
        on = k < terms
        both = on & (k * 0 + right >= 0)
        tl.store(around + tl.load(same + left + k, on, 0), tl.load(values + right + k, both, 0.0), on)
        tl.store(around + tl.load(same + right + k, both, 0), tl.load(values + left + k, both, 0.0), both)
    barrier()
    for i in range(last_stage):
        t = last_stage - 1 - i
        most_runs, longest = tl.load(stages + 2 * stage_count + t), stages + 3 * stage_count + t
        last = tl.load(stages + t + 1)
        for start in range(tl.load(stages + t), last, B):
            s = start + tl.arange(0, B)
            live, out, mirror, a, b, n, whole, each = row_of(rows, count, s, s < last, size)
            best = tl.load(around + out, live, float("-inf"))
            best = around_uses(
                starts, runs, run_count, out, live, most_runs, longest, stage_count, around, values,
                weight_scores, best, K, TALL
            )
            inner = tl.load(values + out, live, float("-inf"))
            tl.store(max_marginals + whole, with_score(best, inner), live & (whole >= 0))
            best = with_score(best, load_plain(weight_scores, whole, live))
            tl.store(around + out, best, live)
            tl.store(around + mirror, best, live)
        barrier()


@for_all_sizes
def weights_of_terms(
    starts, runs, run_count, order, used, most_runs, longest, tiles, weight_scores, values, around, max_marginals,
    cells, weights, B: tl.constexpr, K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Write the max-marginals of the weights of single terms; the grid is (items, blocks of weights)."""
    item = tl.program_id(0).to(tl.int64)
    weight_scores += item * weights
    max_marginals += item * weights
    values += item * cells
    around += item * cells
    place = tl.program_id(1) * B + tl.arange(0, B)
    live = place < used
    x = tl.load(order + place, live, 0)
    best = tl.full([B], float("-inf"), values.dtype.element_ty)
    best = around_uses(
        starts, runs, run_count, x, live, most_runs, longest + tl.program_id(1), tiles, around, values, values,
        best, K, TALL
    )
    tl.store(max_marginals + x, with_score(best, load_plain(weight_scores, x, live)), live)


@triton.jit
def better(best, chosen, scores, k, on, TALL: tl.constexpr):
    """Return the maximum of each row and the first term that has it, given those so far and further scores."""
    scores = tl.where(on, scores, float("-inf"))
    highest = most_of_terms(scores, TALL)
    first = -most_of_terms(tl.where(on & (scores == beside(highest, TALL)), -k, -(1 << 30)), TALL)
    return tl.maximum(best, highest), tl.where(highest > best, first, chosen)


@triton.jit
def best_of(values, weight_scores, a, b, c, count, most, K: tl.constexpr, TALL: tl.constexpr):
    """Return the index of the first best term of each row, whose runs begin at a, b and c."""
    one = tl.minimum(count, 1)  # see `inside_outside.inside`
    best, chosen = tl.full(count.shape, float("-inf"), values.dtype.element_ty), tl.zeros_like(count)
    for start in range(0, most, K):
        k = terms_from(start, K, TALL)
        on = k < beside(count, TALL)
        result = tl.load(values + run_of(a, k, one, TALL), on, float("-inf"))
        result += load_plain(values, run_of(b, k, one, TALL), on)
        result += load_plain(weight_scores, run_of(c, k, one, TALL), on)
        best, chosen = better(best, chosen, result, k, on, TALL)
    return chosen


@triton.jit
def drawn_of(
    vm, ve, wm, we, a, b, c, count, most, base, base_exponent, seed, first, K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Draw a term of each row by its share; return its index.

    It is the term whose log with Gumbel noise is largest (Gumbel 1954). Term k takes its random number from place
    ``first + k`` of the seed's sequence; ``base`` is the sum of the row.
    """
    one = tl.minimum(count, 1)  # see `inside_outside.inside`
    best, chosen = tl.full(count.shape, float("-inf"), tl.float64), tl.zeros_like(count)
    for start in range(0, most, K):
        k = terms_from(start, K, TALL)
        on = k < beside(count, TALL)
        mantissa, exponent = product(
            vm, ve, run_of(a, k, one, TALL), vm, ve, run_of(b, k, one, TALL), wm, we, run_of(c, k, one, TALL),
            on
        )
        share = ratio(mantissa, exponent, beside(base, TALL), beside(base_exponent, TALL)).to(tl.float64)
        result = tl.log(tl.where(share > 0.0, share, 1.0)) + gumbel(seed, beside(first, TALL) + k)
        result = tl.where(share > 0.0, result, float("-inf"))
        best, chosen = better(best, chosen, result, k, on, TALL)
    return chosen


@triton.jit
def choose_end(
    stages, stage_count, same, left, right, terms, seed, wm, we, vm, ve, chosen, longest, RANDOM: tl.constexpr,
    K: tl.constexpr, TALL: tl.constexpr,
):  # fmt: skip
    """Choose a term of the total of an item, and mark its cells."""
    one = tl.zeros([1], tl.int32)
    a, b, n = one + left, one + right, one + terms
    if RANDOM:
        base, power = total_of(vm, ve, left, right, terms, K)
        first = (one + tl.load(stages + stage_count - 1)) * longest
        k = drawn_of(vm, ve, wm, we, a, b, one - 1, n, terms, base, power, seed, first, K, TALL)
        possible = (base != 0.0) & (n > 0)
    else:
        k = best_of(vm, wm, a, b, one - 1, n, terms, K, TALL)
        highest = tl.load(vm + a + k, n > 0, 0.0) + load_plain(vm, tl.where(b >= 0, b + k, -1), n > 0)
        possible = (highest > float("-inf")) & (n > 0)
    mark(chosen, same, a + k, possible)
    mark(chosen, same, b + k, possible & (b >= 0))


@triton.jit
def mark(chosen, same, cells, on):
    """Mark cells in ``chosen (cells,)``, or the cells that they are copies of."""
    tl.store(chosen + tl.load(same + cells, on, 0), (cells * 0 + 1).to(tl.int8), on)


@for_all_sizes
def choose(
    rows, count, stages, stage_count, ends, end_count, same, sizes, seeds, wm, we, vm, ve, chosen, used, cells,
    step, power_step, weights, longest, number, RANDOM: tl.constexpr, B: tl.constexpr, K: tl.constexpr,
    TALL: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Mark the weights of structures, ``used (batch, number, weights)``: samples if RANDOM, else a best one.

    The walk goes from the total down, and marks the cells on its way, ``chosen (batch, number, cells)``. For a
    best structure, ``wm`` are logs of weights and ``vm`` best scores of cells. The grid is (items x number,).
    """
    draw = tl.program_id(0).to(tl.int64)
    item = draw // number
    vm, ve = of_item(vm, ve, item, step, power_step)
    wm, we = of_item(wm, we, item, weights, weights)
    chosen += draw * cells
    used += draw * weights
    size = tl.load(sizes + item).to(tl.int32)
    left, right, terms, last_stage = end_of(ends, end_count, size)
    random = tl.load(seeds + draw)
    fill(chosen, cells, 0, C)
    fill(used, weights, 0, C)
    barrier()
    choose_end(
        stages, stage_count, same, left, right, terms, random, wm, we, vm, ve, chosen, longest, RANDOM, K, TALL
    )
    barrier()
    for i in range(last_stage):
        t = last_stage - 1 - i
        most = tl.load(stages + stage_count + t)
        last = tl.load(stages + t + 1)
        for start in range(tl.load(stages + t), last, B):
            s = start + tl.arange(0, B)
            live, out, mirror, a, b, n, whole, each = row_of(rows, count, s, s < last, size)
            live = live & (tl.load(chosen + out, live, 0) != 0)
            n = tl.where(live, n, 0)
            if RANDOM:
                base, power = without(vm, ve, wm, we, out, whole, live)
                k = drawn_of(vm, ve, wm, we, a, b, each, n, most, base, power, random, s * longest, K, TALL)
            else:
                k = best_of(vm, wm, a, b, each, n, most, K, TALL)
            mark(chosen, same, a + k, live)
            mark(chosen, same, b + k, live & (b >= 0))
            yes = (n * 0 + 1).to(tl.int8)
            tl.store(used + whole, yes, live & (whole >= 0))
            tl.store(used + each + k, yes, live & (each >= 0))
        barrier()
