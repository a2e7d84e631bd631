"""Kernels of the linear chain in scaled probability space; `strukt.kernels.chain.cpu` says when they hold."""

from __future__ import annotations

import numpy as np

from strukt.kernels.chain import cpu_log
from strukt.kernels.chain.cpu_log import Array
from strukt.kernels.jit import exp, kernel

TINY = 1e-100
"""Weights in probability space are zero or at least this, relative to the largest of their step."""

LOG_SPACE = -1.0
"""The normaliser of the first step in charts of items in log space; 0 in those without any sequence."""

BLOCK = 4
"""Items that share a matrix and go through it together."""


@kernel
def _weights(scores: Array, out: Array) -> tuple[float, bool]:
    """exp(scores - top) into ``out``; gives top and whether every finite weight is at least TINY."""
    rows, columns = scores.shape
    top = -np.inf
    for i in range(rows):
        for j in range(columns):
            top = max(top, np.float64(scores[i, j]))
    if top == -np.inf:
        out[:, :] = 0.0
        return 0.0, True
    lost = 0
    for i in range(rows):
        for j in range(columns):
            shifted = np.float64(scores[i, j]) - top
            weight = exp(shifted)
            out[i, j] = weight
            lost += int((weight < TINY) & (shifted > -np.inf))
    return top, lost == 0


@kernel
def _multiply(left: Array, matrix: Array, out: Array) -> None:
    """Product ``left @ matrix`` of a few rows, in steps of four to save loads and stores of ``out``."""
    rows, c = out.shape
    out[:, :] = 0.0
    i = 0
    while i + 3 < c:
        for q in range(rows):
            w, x, y, z = left[q, i], left[q, i + 1], left[q, i + 2], left[q, i + 3]
            for j in range(c):
                out[q, j] += (
                    w * matrix[i, j] + x * matrix[i + 1, j] + y * matrix[i + 2, j] + z * matrix[i + 3, j]
                )
        i += 4
    while i < c:
        for q in range(rows):
            w = left[q, i]
            for j in range(c):
                out[q, j] += w * matrix[i, j]
        i += 1


@kernel
def _enter(unary: Array, entered: Array, row: Array, chart: Array) -> float:
    """Weigh and normalise one position; gives the log of the normaliser, NaN if something could underflow."""
    c = unary.shape[1]
    top, safe = _weights(unary, row)
    if not safe:
        return np.nan
    mass = 0.0
    for j in range(c):
        entered[j] *= row[0, j]
        mass += entered[j]
    if mass == 0.0:
        return -np.inf
    lost = 0
    for j in range(c):
        probability = entered[j] / mass
        lost += int((probability < TINY) & (probability > 0.0))
        chart[j] = probability
    chart[c] = mass
    return top + np.log(mass) if lost == 0 else np.nan


@kernel
def _forward_block(
    unary: Array, transition: Array, lengths: Array, top: float, safe: bool, matrix: Array,
    chart: Array, log_partition: Array,
) -> None:  # fmt: skip
    """The forward pass of items that share a matrix (``matrix``, exp(transition - top)) or of one item.

    An item stops at -inf, when it has no sequence, or at NaN, when it must run in log space.
    """
    items, _, c = unary.shape
    row = np.empty((1, c))
    alpha = np.zeros((items, c))
    entered = np.ones((items, c))
    log_partition[:] = 0.0
    for t in range(lengths.max()):
        if t > 0 and transition.shape[0] > 1:
            top, safe = _weights(transition[t - 1], matrix)
        if t > 0:
            for q in range(items):
                alpha[q] = chart[q, t - 1, :c]
            _multiply(alpha, matrix, entered)
        for q in range(items):
            if t < lengths[q] and log_partition[q] > -np.inf:
                log_partition[q] += _enter(unary[q, t : t + 1], entered[q], row, chart[q, t])
                if t > 0:
                    log_partition[q] += top if safe else np.nan


@kernel
def forward(
    unary: Array, transition: Array, lengths: Array, chart: Array, log_partition: Array, matrices: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Log-partitions and charts; ``matrices`` is room for one weight matrix for each thread."""
    batch, _, c = unary.shape
    groups, steps = transition.shape[:2]
    width = BLOCK if groups == 1 and steps == 1 else 1
    matrix = matrices[start]
    top, safe, loaded = 0.0, True, -1
    for first in range(start * width, batch, step * width):
        items = slice(first, min(first + width, batch))
        group = first * groups // batch
        if steps == 1 and group != loaded:
            top, safe = _weights(transition[group, 0], matrix)
            loaded = group
        _forward_block(
            unary[items],
            transition[group],
            lengths[items],
            top,
            safe,
            matrix,
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
def _flow(unary: Array, beta: Array, mass: float, row: Array, out: Array) -> None:
    """Weight times beta of a position, over its normaliser: what flows back to the position before."""
    _weights(unary, row)
    for j in range(beta.shape[0]):
        out[j] = row[0, j] * beta[j] / mass


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
    unary: Array, transposed: Array, lengths: Array, chart: Array, right: Array, tags: Array
) -> None:
    """Tag marginals of items that share a matrix; ``right[q, t]`` keeps what flows back from t + 1 to t."""
    items, _, c = unary.shape
    row = np.empty((1, c))
    beta = np.ones((items, c))
    flow = np.zeros((items, c))
    before = np.empty((items, c))
    for t in range(lengths.max() - 1, -1, -1):
        for q in range(items):
            if t < lengths[q] - 1 and chart[q, 0, c] > 0.0:
                _flow(unary[q, t + 1 : t + 2], beta[q], chart[q, t + 1, c], row, right[q, t])
                flow[q] = right[q, t]
        _multiply(flow, transposed, before)
        for q in range(items):
            if t < lengths[q] and chart[q, 0, c] > 0.0:
                if t < lengths[q] - 1:
                    beta[q] = before[q]
                for i in range(c):
                    tags[q, t, i] = chart[q, t, i] * beta[q, i]


@kernel
def backward_shared(
    unary: Array, transition: Array, lengths: Array, weights: Array, chart: Array, tags: Array, expected: Array,
    matrices: Array, blocks: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Tag marginals, and expected transitions over the weight matrix, in one slot for each thread.

    ``matrices`` and ``blocks`` are room for one weight matrix and one block of items for each thread.
    """
    batch = unary.shape[0]
    c = unary.shape[2]
    groups = transition.shape[0]
    width = BLOCK if groups == 1 else 1
    transposed, right = matrices[start], blocks[start]
    slot = start % expected.shape[0]
    loaded = -1
    for first in range(start * width, batch, step * width):
        items = slice(first, min(first + width, batch))
        group = first * groups // batch
        if group != loaded:
            _weights(transition[group, 0].T, transposed)
            loaded = group
        _backward_block(unary[items], transposed, lengths[items], chart[items], right, tags[items])
        for b in range(first, min(first + width, batch)):
            if lengths[b] > 0 and chart[b, 0, c] > 0.0:
                tags[b] *= weights[b]
                pairs = slice(0, lengths[b] - 1)
                _add_products(chart[b, pairs], right[b - first, pairs], weights[b], expected[slot, group])


@kernel
def times_weights(transition: Array, expected: Array, pairs: Array) -> None:
    """Sum the slots of the threads and multiply by the weight matrix."""
    slots, groups, c, _ = expected.shape
    matrix = np.empty((c, c))
    for group in range(groups):
        _weights(transition[group, 0], matrix)
        for i in range(c):
            for j in range(c):
                total = 0.0
                for slot in range(slots):
                    total += expected[slot, group, i, j]
                pairs[group, 0, i, j] += total * matrix[i, j]


@kernel
def backward_per_step(
    unary: Array, transition: Array, lengths: Array, weights: Array, chart: Array, tags: Array, pairs: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Tag marginals and the marginal of every transition at every step."""
    batch, _, c = unary.shape
    matrix = np.empty((c, c))
    row = np.empty((1, c))
    beta = np.empty(c)
    flow = np.empty(c)
    for b in range(start, batch, step):
        length = lengths[b]
        if length == 0 or chart[b, 0, c] <= 0.0:
            continue
        beta[:] = 1.0
        for t in range(length - 1, -1, -1):
            if t < length - 1:
                _weights(transition[b * transition.shape[0] // batch, t], matrix)
                _flow(unary[b, t + 1 : t + 2], beta, chart[b, t + 1, c], row, flow)
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
