"""The backward pass of the linear chain in scaled probability space."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, scratch
from strukt.structures.linear_chain.cpu_weights import (
    block_width,
    longest_of,
    multiply,
    weigh,
    weigh_position,
)

WINDOW = 16
"""The number of positions whose expected transitions are accumulated in one matrix product."""


@inner
def _flow(unary: Array, b: int, t: int, beta: Array, chart: Array, weight: Array, out: Array) -> None:
    """Write the message from position t to t - 1, ``out (c,)``: weight times beta, divided by the normaliser of t.

    Tags that no sequence reaches get 0, because their beta is unbounded. ``weight (c,)`` is workspace.
    """
    weigh_position(unary, b, t, weight)
    c = weight.shape[0]
    scale = 1.0 / chart[b, t, c]
    for j in range(c):
        out[j] = weight[j] * beta[j] * scale if chart[b, t, j] > 0.0 else 0.0


@inner
def add_products(left: Array, right: Array, weight: float, out: Array) -> None:
    """Add weight * left.T @ right to ``out (c, c)``, in blocks that stay in the first-level cache.

    ``left`` and ``right`` are ``(n, c)``.
    """
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


@inner
def _backward_block(
    unary: Array, transposed: Array, lengths: Array, weights: Array, chart: Array, right: Array, tags: Array,
    expected: Array,
) -> None:  # fmt: skip
    """Write the tag marginals of items that share a matrix, and add their transitions to ``expected (c, c)``.

    The expected transitions lack a factor, the weights of the matrix; `times_weights` multiplies by these later.
    ``right[q, t % WINDOW]`` holds item q's message from t + 1 to t until the window is full. ``transposed (c, c)``
    holds the weights of the matrix, transposed.
    """
    items, _, c = unary.shape
    weight = scratch(1, c)[0]
    beta, flow = scratch(items, c), scratch(items, c)
    flow[:, :] = 0.0
    for t in range(longest_of(lengths) - 1, -1, -1):
        for q in range(items):
            if t < lengths[q] - 1:
                weigh_position(unary, q, t + 1, weight)
                scale = 1.0 / chart[q, t + 1, c]
                for j in range(c):
                    flow[q, j] = weight[j] * beta[q, j] * scale if chart[q, t + 1, j] > 0.0 else 0.0
                    right[q, t % WINDOW, j] = flow[q, j]
        multiply(flow, transposed, beta)
        for q in range(items):
            if t == lengths[q] - 1:
                for j in range(c):
                    beta[q, j] = 1.0
            if t < lengths[q]:
                for j in range(c):
                    tags[q, t, j] = weights[q] * chart[q, t, j] * beta[q, j]
            end = min(t + WINDOW, lengths[q] - 1)
            if t % WINDOW == 0 and t < end:
                add_products(chart[q, t:end], right[q, : end - t], weights[q], expected)


@kernel
def backward_shared(
    unary: Array, transition: Array, lengths: Array, matrices: Array, weights: Array, chart: Array, tags: Array,
    expected: Array, blocks: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write tag marginals, and expected transitions divided by their weights, where all steps share a matrix.

    Underflowed items get tag marginals 0. Each thread adds to a slot of ``expected`` of its own, unless there is
    only one slot.

    Arrays: ``unary (batch, n, c)``, ``transition (g, 1, c, c)``, ``lengths (batch,)``, the transposed weights
    ``matrices (g, c, c)``, ``weights (batch,)``, ``chart (batch, n, c + 1)``, ``tags (batch, n, c)``,
    ``expected (slots, g, c, c)``, and the workspace ``blocks (threads, BLOCK, WINDOW, c)``, which holds the
    messages of a window for each item of a block.
    """
    batch, _, c = unary.shape
    groups = transition.shape[0]
    width = block_width(batch, step) if groups == 1 else 1
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


@inner
def add_matrix(added: Array, total: Array) -> None:
    """Add ``added`` to ``total`` entry by entry: an array operator takes seconds to compile."""
    for i in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[i, j] += added[i, j]


@kernel
def times_weights(transition: Array, expected: Array, pairs: Array) -> None:
    """Sum ``expected (slots, g, c, c)`` over the slots, multiply by the weights, and add the result to ``pairs``.

    ``transition`` and ``pairs`` are ``(g, 1, c, c)``. The sums overwrite slot 0.
    """
    slots, groups, c, _ = expected.shape
    matrix = np.empty((c, c))
    for group in range(groups):
        for slot in range(1, slots):
            add_matrix(expected[slot, group], expected[0, group])
        weigh(transition[group, 0], matrix)
        for i in range(c):
            for j in range(c):
                pairs[group, 0, i, j] += expected[0, group, i, j] * matrix[i, j]


@kernel
def backward_per_step(
    unary: Array, transition: Array, lengths: Array, weights: Array, chart: Array, tags: Array, pairs: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write tag marginals, and the marginal of every transition at every step, where each step has its own matrix.

    Underflowed items get tag marginals 0; their ``pairs`` are left as they are.

    Arrays: ``unary (batch, n, c)``, ``transition (g, n - 1, c, c)``, ``lengths (batch,)``, ``weights (batch,)``,
    ``chart (batch, n, c + 1)``, ``tags (batch, n, c)`` and ``pairs (batch, n - 1, c, c)``.
    """
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
                weigh(transition[b * transition.shape[0] // batch, t], matrix)
                _flow(unary, b, t + 1, beta, chart, weight, flow)
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
