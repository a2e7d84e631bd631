"""Kernels of the linear chain in scaled probability space; `strukt.kernels.chain.cpu` says when they hold."""

from __future__ import annotations

import numpy as np

from strukt.kernels.chain import cpu_log
from strukt.kernels.chain.cpu_log import Array
from strukt.kernels.jit import exp, kernel, scratch

TINY = 1e-100
"""Weights in probability space are zero or at least this, relative to the largest of their step."""

LOG_SPACE = -1.0
"""The normaliser of the first step in charts of items in log space; 0 in those without any sequence."""

BLOCK = 8
"""Items that share a matrix and go through it together."""

WINDOW = 16
"""Positions whose expected transitions are added up together."""


@kernel
def _weigh_position(unary: Array, b: int, t: int, out: Array) -> tuple[float, bool]:
    """exp(scores - top) of one position; gives top and whether every finite weight is at least TINY."""
    c = unary.shape[2]
    top = unary[b, t, 0]
    for j in range(c):
        top = max(top, unary[b, t, j])
    shift = np.float64(top) if top > -np.inf else 0.0
    lost = 0
    for j in range(c):
        shifted = np.float64(unary[b, t, j]) - shift
        weight = exp(shifted)
        out[j] = weight
        lost += int((weight < TINY) & (shifted > -np.inf))
    return shift, lost == 0


@kernel
def _weigh(scores: Array, out: Array) -> tuple[float, bool]:
    """exp(scores - top) of a matrix, with one top for all of it."""
    top = -np.inf
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            top = max(top, np.float64(scores[i, j]))
    shift = top if top > -np.inf else 0.0
    lost = 0
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            shifted = np.float64(scores[i, j]) - shift
            weight = exp(shifted)
            out[i, j] = weight
            lost += int((weight < TINY) & (shifted > -np.inf))
    return shift, lost == 0


@kernel
def weigh_shared(
    transition: Array, transposed: bool, matrices: Array, tops: Array, start: int, step: int
) -> None:
    """exp(transition - top), one matrix for each group; its top is NaN where a weight could underflow."""
    for group in range(start, transition.shape[0], step):
        top, safe = _weigh(transition[group, 0], matrices[group])
        tops[group] = top if safe else np.nan
        if transposed:
            _transpose(matrices[group])


@kernel
def _transpose(matrix: Array) -> None:
    """In place, in blocks of eight, which are one cache line of each row."""
    c = matrix.shape[0]
    for top in range(0, c, 8):
        for left in range(0, top + 1, 8):
            for i in range(top, min(top + 8, c)):
                for j in range(left, min(left + 8, i)):
                    matrix[i, j], matrix[j, i] = matrix[j, i], matrix[i, j]


@kernel
def _multiply(left: Array, matrix: Array, out: Array) -> None:
    """Product ``left @ matrix`` of a few rows, in steps of eight to save loads and stores of ``out``."""
    rows, c = out.shape
    out[:, :] = 0.0
    i = 0
    while i + 7 < c:
        for q in range(rows):
            p, r, s, t = left[q, i], left[q, i + 1], left[q, i + 2], left[q, i + 3]
            w, x, y, z = left[q, i + 4], left[q, i + 5], left[q, i + 6], left[q, i + 7]
            for j in range(c):
                out[q, j] += (
                    p * matrix[i, j] + r * matrix[i + 1, j] + s * matrix[i + 2, j] + t * matrix[i + 3, j]
                ) + (
                    w * matrix[i + 4, j] + x * matrix[i + 5, j] + y * matrix[i + 6, j] + z * matrix[i + 7, j]
                )
        i += 8
    while i < c:
        for q in range(rows):
            w = left[q, i]
            for j in range(c):
                out[q, j] += w * matrix[i, j]
        i += 1


@kernel
def _enter(
    unary: Array,
    t: int,
    lengths: Array,
    entered: Array,
    alpha: Array,
    chart: Array,
    factors: Array,
    logs: Array,
) -> None:
    """Weigh and normalise position t of each item of a block.

    ``factors`` gets the normaliser as a number and ``logs`` the log of a factor that it left out: -inf where no
    sequence is left, NaN where something could underflow.
    """
    c = unary.shape[2]
    weight = scratch(1, c)[0]
    for q in range(lengths.shape[0]):
        if t >= lengths[q] or not logs[q] > -np.inf:
            continue
        top, safe = _weigh_position(unary, q, t, weight)
        mass = 0.0
        for j in range(c):
            mass += entered[q, j] * weight[j]
        scale = 1.0 / mass if mass > 0.0 else 0.0
        lost = 0
        for j in range(c):
            probability = entered[q, j] * weight[j] * scale
            lost += int((probability < TINY) & (probability > 0.0))
            alpha[q, j] = probability
            chart[q, t, j] = probability
        chart[q, t, c] = mass
        factors[q] *= mass
        logs[q] += top if safe and lost == 0 else np.nan
        if not TINY < factors[q] < 1.0 / TINY or t == lengths[q] - 1:
            logs[q] += np.log(factors[q])
            factors[q] = 1.0


@kernel
def _forward_block(
    unary: Array,
    transition: Array,
    lengths: Array,
    top: float,
    matrix: Array,
    chart: Array,
    log_partition: Array,
) -> None:
    """The forward pass of items that share a matrix (``matrix``, exp(transition - top)) or of one item.

    An item stops at -inf, when it has no sequence, or at NaN, when it must run in log space.
    """
    items, _, c = unary.shape
    alpha, entered = scratch(items, c), scratch(items, c)
    alpha[:, :] = 0.0
    entered[:, :] = 1.0
    factors = np.ones(items)
    log_partition[:] = 0.0
    for t in range(lengths.max()):
        if t > 0:
            if transition.shape[0] > 1:
                shift, safe = _weigh(transition[t - 1], matrix)
                top = shift if safe else np.nan
            for q in range(items):
                if t < lengths[q]:
                    log_partition[q] += top
            _multiply(alpha, matrix, entered)
        _enter(unary, t, lengths, entered, alpha, chart, factors, log_partition)


@kernel
def _width(batch: int, threads: int) -> int:
    """How many items make a block, so that every thread has one."""
    return min(BLOCK, (batch + threads - 1) // threads)


@kernel
def forward(
    unary: Array, transition: Array, lengths: Array, matrices: Array, tops: Array, chart: Array,
    log_partition: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Log-partitions and charts; ``matrices`` and ``tops`` are of each group, or room for each thread."""
    batch, _, c = unary.shape
    groups, steps = transition.shape[:2]
    width = _width(batch, step) if groups == 1 and steps == 1 else 1
    for first in range(start * width, batch, step * width):
        items = slice(first, min(first + width, batch))
        group = first * groups // batch
        place = group if steps == 1 else start
        _forward_block(
            unary[items],
            transition[group],
            lengths[items],
            tops[place],
            matrices[place],
            chart[items],
            log_partition[items],
        )
        for b in range(first, min(first + width, batch)):
            if np.isnan(log_partition[b]):
                chart[b, 0, c] = LOG_SPACE
                log_partition[b] = cpu_log.forward_item(unary[b], transition[group], lengths[b], chart[b])
            if log_partition[b] == -np.inf:
                chart[b, 0, c] = 0.0


@kernel
def _flow(unary: Array, b: int, t: int, beta: Array, mass: float, weight: Array, out: Array) -> None:
    """Weight times beta of position t, over its normaliser: what flows back to the position before."""
    _weigh_position(unary, b, t, weight)
    scale = 1.0 / mass
    for j in range(weight.shape[0]):
        out[j] = weight[j] * beta[j] * scale


@kernel
def _add_products(left: Array, right: Array, weight: float, out: Array) -> None:
    """Out += weight * left.T @ right, in blocks that stay in the first-level cache."""
    n, c = right.shape
    for block in range(0, c, 8):
        for t in range(0, n - 3, 4):
            for i in range(block, min(block + 8, c)):
                w, x = weight * left[t, i], weight * left[t + 1, i]
                y, z = weight * left[t + 2, i], weight * left[t + 3, i]
                for j in range(c):
                    out[i, j] += (
                        w * right[t, j] + x * right[t + 1, j] + y * right[t + 2, j] + z * right[t + 3, j]
                    )
        for t in range(n - n % 4, n):
            for i in range(block, min(block + 8, c)):
                w = weight * left[t, i]
                for j in range(c):
                    out[i, j] += w * right[t, j]


@kernel
def _backward_block(
    unary: Array, transposed: Array, lengths: Array, weights: Array, chart: Array, right: Array, tags: Array,
    expected: Array,
) -> None:  # fmt: skip
    """Tag marginals of items that share a matrix, and their expected transitions over its weights.

    ``right[q, t % WINDOW]`` keeps what flows back from t + 1 to t until a window is full.
    """
    items, _, c = unary.shape
    weight = scratch(1, c)[0]
    beta, flow = scratch(items, c), scratch(items, c)
    flow[:, :] = 0.0
    for t in range(lengths.max() - 1, -1, -1):
        for q in range(items):
            if t < lengths[q] - 1:
                _weigh_position(unary, q, t + 1, weight)
                scale = 1.0 / chart[q, t + 1, c]
                for j in range(c):
                    flow[q, j] = weight[j] * beta[q, j] * scale
                    right[q, t % WINDOW, j] = flow[q, j]
        _multiply(flow, transposed, beta)
        for q in range(items):
            if t == lengths[q] - 1:
                for j in range(c):
                    beta[q, j] = 1.0
            if t < lengths[q]:
                for j in range(c):
                    tags[q, t, j] = weights[q] * chart[q, t, j] * beta[q, j]
            end = min(t + WINDOW, lengths[q] - 1)
            if t % WINDOW == 0 and t < end:
                _add_products(chart[q, t:end], right[q, : end - t], weights[q], expected)


@kernel
def backward_shared(
    unary: Array, transition: Array, lengths: Array, matrices: Array, weights: Array, chart: Array, tags: Array,
    expected: Array, blocks: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Tag marginals, 0 for items in log space; expected transitions over the weights, in threads' slots.

    ``matrices`` are the transposed weights of each group, ``blocks`` room for a window of a block of items for
    each thread.
    """
    batch, _, c = unary.shape
    groups = transition.shape[0]
    width = _width(batch, step) if groups == 1 else 1
    slot = start % expected.shape[0]
    used = np.empty(width, np.int64)
    for first in range(start * width, batch, step * width):
        items = slice(first, min(first + width, batch))
        group = first * groups // batch
        for b in range(first, min(first + width, batch)):
            used[b - first] = lengths[b] if lengths[b] > 0 and chart[b, 0, c] > 0.0 else 0
            tags[b, used[b - first] :] = 0.0
        _backward_block(
            unary[items],
            matrices[group],
            used[: unary[items].shape[0]],
            weights[items],
            chart[items],
            blocks[start],
            tags[items],
            expected[slot, group],
        )


@kernel
def times_weights(transition: Array, expected: Array, pairs: Array) -> None:
    """Sum the slots of the threads and multiply by the weights."""
    slots, groups, c, _ = expected.shape
    for group in range(groups):
        for slot in range(1, slots):
            expected[0, group] += expected[slot, group]
        top = transition[group, 0].max()
        shift = np.float64(top) if top > -np.inf else 0.0
        for i in range(c):
            for j in range(c):
                weight = exp(np.float64(transition[group, 0, i, j]) - shift)
                pairs[group, 0, i, j] += expected[0, group, i, j] * weight


@kernel
def backward_per_step(
    unary: Array, transition: Array, lengths: Array, weights: Array, chart: Array, tags: Array, pairs: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Tag marginals, 0 for items in log space, and the marginal of every transition at every step."""
    batch, _, c = unary.shape
    matrix = np.empty((c, c))
    weight = scratch(1, c)[0]
    beta = np.empty(c)
    flow = np.empty(c)
    for b in range(start, batch, step):
        used = lengths[b] if lengths[b] > 0 and chart[b, 0, c] > 0.0 else 0
        tags[b, used:] = 0.0
        beta[:] = 1.0
        for t in range(used - 1, -1, -1):
            if t < used - 1:
                _weigh(transition[b * transition.shape[0] // batch, t], matrix)
                _flow(unary, b, t + 1, beta, chart[b, t + 1, c], weight, flow)
                for i in range(c):
                    alpha = weights[b] * chart[b, t, i]
                    total = 0.0
                    for j in range(c):
                        share = matrix[i, j] * flow[j]
                        total += share
                        pairs[b, t, i, j] = alpha * share
                    beta[i] = total
            for i in range(c):
                tags[b, t, i] = weights[b] * chart[b, t, i] * beta[i]
