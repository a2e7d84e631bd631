"""Exact samples of a chain's tags, from the last position backwards."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_draw import accumulate, find
from strukt.kernels.jit import exp, inner, kernel, scratch
from strukt.structures.linear_chain.cpu_log import Array, rebase
from strukt.structures.linear_chain.cpu_probability import LOG_SPACE


@kernel
def draw(
    unary: Array, transition: Array, lengths: Array, chart: Array, uniform: Array, tags: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Samples; at each position all of them, so that those with the same following tag share its table."""
    batch, _, c = unary.shape
    tables, made = scratch(c, c), np.empty(c, np.bool_)
    for b in range(start, batch, step):
        length = lengths[b]
        if length == 0 or chart[b, 0, c] == 0.0:
            continue
        in_log_space = chart[b, 0, c] == LOG_SPACE
        scores = transition[b * transition.shape[0] // batch]
        _weigh_last(chart[b, length - 1, :c], in_log_space, tables[0])
        for q in range(uniform.shape[1]):
            tags[b, q, length - 1] = find(tables[0], 0, tables.shape[1], uniform[b, q, length - 1])
        for t in range(length - 2, -1, -1):
            made[:] = False
            pairs = scores[min(t, scores.shape[0] - 1)]
            for q in range(uniform.shape[1]):
                following = tags[b, q, t + 1]
                if not made[following]:
                    made[following] = True
                    _weigh(chart[b, t, :c], in_log_space, pairs[:, following], tables[following])
                tags[b, q, t] = find(tables[following], 0, tables.shape[1], uniform[b, q, t])


@inner
def _weigh_last(alpha: Array, in_log_space: bool, table: Array) -> None:
    """The table of the last tag."""
    for i in range(table.shape[0]):
        table[i] = exp(alpha[i]) if in_log_space else alpha[i]
    accumulate(table)


@kernel
def _weigh(alpha: Array, in_log_space: bool, onward: Array, table: Array) -> None:
    """The table of a tag, given the one that follows."""
    for i in range(table.shape[0]):
        table[i] = onward[i] + (alpha[i] if in_log_space else 0.0)
    rebase(table)
    for i in range(table.shape[0]):
        table[i] = exp(table[i])
    if not in_log_space:
        for i in range(table.shape[0]):
            table[i] *= alpha[i]
    accumulate(table)
