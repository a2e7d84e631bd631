"""Triton kernels of the Matrix-Tree theorem: one program for each item.

Arguments that kernels have in common: ``arcs (batch, n, n + 1)``, ``lengths (batch,)``, and the memory of matrices
of all items, viewed as mantissas (``chart``, ``workspace``, ``slopes``) and as exponents (``powers`` and others);
see `parts_of`. Programs work on tiles of R words and C heads. If SINGLE, trees have a single root. The names
``wm`` to ``sd`` are those of `gpu_elimination`.

Directions of scores, where there are any, are ``(batch, n, n + 1)``. None stands for the costs of arcs: the
score of the word's best head minus that of the arc. With scores relative to those of the best heads, the entropy
is the log of the total plus the expected cost. The expected cost is the derivative of that log along the costs.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.kernels.engine.gpu.numbers import log, number_of, scale
from strukt.structures.non_projective_tree.gpu_elimination import eliminate, fill_slopes

ORDER = tl.constexpr(1 << 27)
"""The exponent subtracted for an epsilon, a factor of 10^(10^10)."""


@triton.jit
def parts_of(memory, powers, item, n):
    """Return pointers to the mantissas, the exponents and the best scores of words in the memory of an item."""
    size = n * (n + 1)
    words = size + n + size // 2
    return memory + item * words, powers + item * (2 * words) + 2 * (size + n), memory + item * words + size


@triton.jit
def tile_of(first, start, length, R: tl.constexpr, C: tl.constexpr):
    """Return the words and the heads of a tile, and a mask of the arcs within a length."""
    m, h = first + tl.arange(0, R), start + tl.arange(0, C)
    return m, h, (m < length)[:, None] & (h <= length)[None, :]


@triton.jit
def scores_at(arcs, m, h, on, width):
    """Return the scores of heads h of words m, -inf where there is no arc, and their flat indices.

    ``on`` is the mask of the arcs within the length.
    """
    place = m[:, None] * width + h[None, :]
    return tl.load(arcs + place, on & (h[None, :] != m[:, None] + 1), float("-inf")).to(tl.float64), place


@triton.jit
def weights_of(score, top, h, SINGLE: tl.constexpr):
    """Return the mantissas and exponents of weights relative to ``top``, the best score of each word.

    The arcs of a SINGLE root carry an epsilon.
    """
    mantissa, exponent = number_of((score - top[:, None]).to(tl.float64))
    if SINGLE:
        exponent -= tl.where((h == 0)[None, :] & (mantissa != 0.0), ORDER, 0)
    return mantissa, exponent


@triton.jit
def direction_of(directions, place, some, score, top):
    """Return the direction of each score; 0 where the mask ``some`` of weights above 0 is False.

    ``place`` are flat indices, ``score`` the scores, and ``top`` the best score of each word.
    """
    if directions is None:
        return tl.where(some, top[:, None] - score, 0.0)
    else:
        return tl.load(directions + place, some, 0.0).to(tl.float64)


@triton.jit
def load_weights(
    arcs, directions, wm, we, wd, tops, length, width, SINGLE: tl.constexpr, CHANGES: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the weights of an item, and each word's best score to ``tops (n,)``; return the sum of the latter."""
    shift = tl.zeros([1], tl.float64)
    for first in range(0, length, R):
        top = tl.full([R], float("-inf"), tl.float64)
        for start in range(0, length + 1, C):
            m, h, on = tile_of(first, start, length, R, C)
            score, _ = scores_at(arcs, m, h, on, width)
            top = tl.maximum(top, tl.max(score, 1))
        top = tl.where(top > float("-inf"), top, 0.0)
        shift += tl.sum(top, 0)
        words = first + tl.arange(0, R)
        tl.store(tops + words, top, words < length)
        for start in range(0, length + 1, C):
            m, h, on = tile_of(first, start, length, R, C)
            score, place = scores_at(arcs, m, h, on, width)
            mantissa, exponent = weights_of(score, top, h, SINGLE)
            tl.store(wm + place, mantissa, on)
            tl.store(we + place, exponent, on)
            if CHANGES:
                direction = direction_of(directions, place, mantissa != 0.0, score, top)
                tl.store(wd + place, mantissa * direction, on)
    barrier()
    return shift


@triton.jit
def without_order(total, top, length, SINGLE: tl.constexpr):
    """Return the mantissa and exponent of the total without the epsilon of a single root.

    The total is 0 if the trees of lowest order have more than one root.
    """
    if SINGLE:
        top += tl.where(length > 0, ORDER, 0)
        total = tl.where(top > -(ORDER // 2), total, 0.0)
    return total, top


@triton.jit(do_not_specialize=["n"])
def inside(
    arcs, lengths, chart, powers, log_partitions, n, SINGLE: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):  # fmt: skip
    """Fill the chart with the factors of the elimination, and write ``log_partitions (batch,)``.

    The pivot of word 0 becomes 0 if there is no tree.
    """
    item = tl.program_id(0).to(tl.int64)
    length, one = tl.load(lengths + item).to(tl.int32), tl.zeros([1], tl.int32)
    wm, we, tops = parts_of(chart, powers, item, n)
    shift = load_weights(
        arcs + item * n * (n + 1), None, wm, we, wm, tops, length, n + 1, SINGLE, False, R, C
    )
    total, top, _ = eliminate(wm, we, wm, length, n + 1, False, R, C)
    total, top = without_order(total, top, length, SINGLE)
    tl.store(wm + 1 + one, total, (total == 0.0) & (one + length > 0))
    tl.store(log_partitions + item + one, (log(total, top) + shift).to(log_partitions.dtype.element_ty))


@triton.jit
def uses_at(arcs, tops, sm, se, m, h, on, length, width, SINGLE: tl.constexpr):
    """Return the scores of arcs, the best scores of words, the indices of arcs, weights and slopes.

    A slope is the derivative of the log-total with respect to the weight of an arc. Weights are scaled so that the
    product of both is the probability of the arc.
    """
    score, place = scores_at(arcs, m, h, on, width)
    best = tl.load(tops + m, m < length, 0.0)
    mantissa, exponent = weights_of(score, best, h, SINGLE)
    some = mantissa != 0.0
    slope, power = tl.load(sm + place, some, 0.0), tl.load(se + place, some, 0)
    return score, best, place, mantissa * scale(tl.minimum(exponent + power, 0), mantissa), slope


@triton.jit(do_not_specialize=["n"])
def outside(
    arcs, lengths, chart, powers, workspace, workspace_powers, factors, marginals, n, SINGLE: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write ``marginals (batch, n, n + 1)``: the probability of each arc times its item's ``factors (batch,)``."""
    item, width = tl.program_id(0).to(tl.int64), n + 1
    wm, we, tops = parts_of(chart, powers, item, n)
    sm, se, _unused = parts_of(workspace, workspace_powers, item, n)  # the name _ is of another type below
    arcs, marginals = arcs + item * n * width, marginals + item * n * width
    length = tl.load(lengths + item).to(tl.int32)
    length = tl.where(tl.load(wm + 1, length > 0, 0.0) != 0.0, length, 0)
    fill_slopes(wm, we, wm, sm, se, sm, length, width, False, R, C)
    factor = tl.load(factors + item).to(tl.float64)
    for first in range(0, n, R):
        for start in range(0, width, C):
            m, h, on = tile_of(first, start, length, R, C)
            _, _, place, weight, slope = uses_at(arcs, tops, sm, se, m, h, on, length, width, SINGLE)
            use = (factor * weight * slope).to(marginals.dtype.element_ty)
            tl.store(marginals + place, use, (m < n)[:, None] & (h <= n)[None, :])


@triton.jit(do_not_specialize=["n"])
def derivative(
    arcs, lengths, directions, factors, workspace, workspace_powers, slopes, slope_powers, changes, grads, growths,
    n, SINGLE: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the gradient of <`outside`, directions>.

    The gradient with respect to scores is written to ``grads (batch, n, n + 1)``, that with respect to
    ``factors (batch,)`` to ``growths (batch,)``. The elimination runs again, now with changes along the
    directions; ``changes (batch, 2, n, n + 1)`` is their workspace.
    """
    item, width = tl.program_id(0).to(tl.int64), n + 1
    wm, we, tops = parts_of(workspace, workspace_powers, item, n)
    sm, se, _ = parts_of(slopes, slope_powers, item, n)
    wd, sd = changes + item * (2 * n * width), changes + item * (2 * n * width) + n * width
    arcs, grads = arcs + item * n * width, grads + item * n * width
    if directions is not None:
        directions += item * n * width
    length = tl.load(lengths + item).to(tl.int32)
    load_weights(arcs, directions, wm, we, wd, tops, length, width, SINGLE, True, R, C)
    total, top, growth = eliminate(wm, we, wd, length, width, True, R, C)
    total, _ = without_order(total, top, length, SINGLE)
    possible = tl.max(total, 0) != 0.0
    growth = tl.where(possible, growth, 0.0).to(growths.dtype.element_ty)
    tl.store(growths + item + tl.zeros([1], tl.int32), growth)
    length = tl.where(possible, length, 0)
    fill_slopes(wm, we, wd, sm, se, sd, length, width, True, R, C)
    factor = tl.load(factors + item).to(tl.float64)
    for first in range(0, n, R):
        for start in range(0, width, C):
            m, h, on = tile_of(first, start, length, R, C)
            score, best, place, weight, slope = uses_at(
                arcs, tops, sm, se, m, h, on, length, width, SINGLE
            )
            some = weight != 0.0
            direction = direction_of(directions, place, some, score, best)
            change = factor * weight * (direction * slope + tl.load(sd + place, some, 0.0))
            tl.store(
                grads + place, change.to(grads.dtype.element_ty), (m < n)[:, None] & (h <= n)[None, :]
            )


@triton.jit(do_not_specialize=["n"])
def entropy(
    arcs, lengths, directions, totals, workspace, powers, changes, entropies, n, SINGLE: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write entropies to ``entropies (batch,)``, 0 where there is no tree.

    Given the log-partitions ``totals (batch,)`` of other scores, and the costs of arcs under these as
    ``directions``, write cross-entropies: the totals plus the growth of the log-partition along the directions.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    wm, we, tops = parts_of(workspace, powers, item, n)
    arcs, wd = arcs + item * n * (n + 1), changes + item * n * (n + 1)
    if directions is not None:
        directions += item * n * (n + 1)
    load_weights(arcs, directions, wm, we, wd, tops, length, n + 1, SINGLE, True, R, C)
    total, top, cost = eliminate(wm, we, wd, length, n + 1, True, R, C)
    total, top = without_order(total, top, length, SINGLE)
    if totals is None:
        log_total = log(total, top)
    else:
        log_total = tl.load(totals + item)
    result = tl.where(total == 0.0, 0.0, tl.maximum(log_total + cost, 0.0))
    tl.store(entropies + item + tl.zeros([1], tl.int32), result.to(entropies.dtype.element_ty))
