"""The forward pass of the linear chain in scaled probability space."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel, scratch
from strukt.structures.linear_chain.cpu_weights import (
    TINY,
    UNDERFLOWED,
    block_width,
    longest_of,
    multiply,
    weigh,
    weigh_position,
)


@inner
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
    """Multiply the sums over previous tags, ``entered``, by the weights of position t, and normalise the products.

    The results, for each item of a block that is long enough, are written to ``alpha``, like ``entered`` an array
    ``(items, c)``, and to the chart. The log-partition of item q so far is ``logs[q] + log(factors[q])``.
    ``logs[q]`` becomes -inf if there is no sequence, and NaN if a number could underflow.
    """
    c = unary.shape[2]
    weight = scratch(1, c)[0]
    for q in range(lengths.shape[0]):
        if t >= lengths[q] or not logs[q] > -np.inf:
            continue
        top, safe = weigh_position(unary, q, t, weight)
        mass = 0.0
        for j in range(c):
            mass += entered[q, j] * weight[j]
        scale = 1.0 / mass if mass > 0.0 else 0.0
        underflowed = 0
        for j in range(c):
            probability = entered[q, j] * weight[j] * scale
            underflowed += int((probability < TINY) & (probability > 0.0))
            alpha[q, j] = probability
            chart[q, t, j] = probability
        chart[q, t, c] = mass
        logs[q] += top if safe and underflowed == 0 else np.nan
        if mass < TINY:
            logs[q] += np.log(mass)
        else:
            factors[q] *= mass
        if not TINY < factors[q] < 1.0 / TINY or t == lengths[q] - 1:
            logs[q] += np.log(factors[q])
            factors[q] = 1.0


@inner
def _forward_block(
    unary: Array,
    transition: Array,
    lengths: Array,
    top: float,
    matrix: Array,
    chart: Array,
    log_partition: Array,
) -> None:
    """Run the forward pass of items that share ``matrix``, exp(transition - top), or of a single item.

    If ``transition (steps, c, c)`` has several steps, there is one item, and ``matrix`` is workspace. An item
    stops with log-partition -inf if it has no sequence, and NaN if its probabilities could underflow.
    """
    items, _, c = unary.shape
    alpha, entered = scratch(items, c), scratch(items, c)
    alpha[:, :] = 0.0
    entered[:, :] = 1.0
    factors = np.ones(items)
    log_partition[:] = 0.0
    for t in range(longest_of(lengths)):
        if t > 0:
            if transition.shape[0] > 1:
                shift, safe = weigh(transition[t - 1], matrix)
                top = shift if safe else np.nan
            for q in range(items):
                if t < lengths[q]:
                    log_partition[q] += top
            multiply(alpha, matrix, entered)
        _enter(unary, t, lengths, entered, alpha, chart, factors, log_partition)


@kernel
def forward(
    unary: Array, transition: Array, lengths: Array, matrices: Array, tops: Array, chart: Array,
    log_partition: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write log-partitions and charts; items that could underflow get a mark in the chart and log-partition 0.

    If all steps share a matrix, ``matrices`` and ``tops`` hold each group's weights and the shift of their logs;
    else they are workspace for each thread.

    Arrays: ``unary (batch, n, c)``, ``transition (g, steps, c, c)``, ``lengths (batch,)``, ``matrices (g or
    threads, c, c)``, ``tops (g or threads,)``, ``chart (batch, n, c + 1)`` and ``log_partition (batch,)``.
    """
    batch, _, c = unary.shape
    groups, steps = transition.shape[:2]
    width = block_width(batch, step) if groups == 1 and steps == 1 else 1
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
                chart[b, 0, c], log_partition[b] = UNDERFLOWED, 0.0
            elif lengths[b] == 0 or log_partition[b] == -np.inf:
                chart[b, 0, c] = 0.0
