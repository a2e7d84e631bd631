"""SparseMAP by an active set: argmax over mu in M of <scores, mu> - |mu|^2 / 2 (Niculae et al. 2018, equation 5).

The solution is a convex combination of few structures. The gain of a structure is its score for the gradient of
the objective, ``scores - mu``. Each call of the oracle returns the structure of the largest gain; the quadratic
program over the structures so far is then solved exactly (the min-norm-point algorithm, Wolfe 1976; Nocedal and
Wright 2006, section 16.5). One call costs O(k^2 + k p + d) for k structures of p parts out of d.

The caller runs the oracle: as long as `is_open` returns True, it passes the parts of the best structure for the
scores ``query`` to `advance`.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.elementary import difference
from strukt.kernels.jit import inner, write
from strukt.kernels.sparsemap import completion
from strukt.kernels.sparsemap.factor import append, new_row, remove, solve_back
from strukt.kernels.sparsemap.state import (
    CALLS,
    CONVERGED,
    INFEASIBLE,
    OPTIMISING,
    PHASE,
    SIZE,
    STOPPED,
    ActiveSet,
    mix,
    total,
)

ROUNDING = 4e-15
"""The largest duality gap, relative to the scores, that can be a rounding error."""

STALLED = 1e-10
"""The gap, relative to the scores, that is tolerated if the best structure is in the set already."""

TIED = 1e-10
"""The relative difference of scores up to which structures count as tied."""


@inner
def begin(state: ActiveSet) -> None:
    """Reset an active set to no structures, and set the first query; its ``main`` scores must be set."""
    state.counters[:] = 0
    state.gap[0] = np.inf
    write(state.query, state.main)
    for j in range(state.slots.shape[0]):
        state.slots[j] = j


@inner
def resume(state: ActiveSet, parts: Array, counts: Array, extra: Array, weights: Array) -> None:
    """Start from structures of an earlier solution; affinely dependent and forbidden ones are left out.

    Arrays are those of one item in `strukt.kernels.sparsemap.result.Start`: ``parts (k, p)``, and ``counts``,
    ``extra`` and ``weights (k,)``. If no structure remains, this is `begin`.
    """
    begin(state)
    sum_of_weights = 0.0
    for j in range(weights.shape[0]):
        score = extra[j] + total(state.main, parts[j], counts[j])
        if state.counters[SIZE] == 0:
            state.base[0] = score
        if weights[j] > 0.0 and score > -np.inf and state.counters[SIZE] < state.slots.shape[0] - 1:
            pivot = new_row(state, parts[j], counts[j])
            if pivot > 0.0:
                append(state, parts[j], counts[j], -1 - j, score - state.base[0], weights[j], pivot)
                sum_of_weights += weights[j]
    if sum_of_weights > 0.0:
        for j in range(state.counters[SIZE]):
            state.weights[j] /= sum_of_weights
        _settle(state)
        _set_query(state)


@inner
def advance(state: ActiveSet, parts: Array, count: int, extra: float, max_calls: int, tol: float) -> None:
    """Process the oracle's structure: add it if it has a gain, and set the next query or a final phase.

    The first ``count`` entries of ``parts`` are the indices of its parts; its score is that of its parts plus
    ``extra``. ``max_calls`` and ``tol`` are those of `strukt.kernels.sparsemap.result.Settings`.
    """
    state.counters[CALLS] += 1
    score = extra + total(state.main, parts, count)
    if state.counters[SIZE] == 0:
        state.base[0] = score
    scale = 1.0 + abs(state.base[0]) + count
    score = difference(score, state.base[0])
    if state.counters[PHASE] != OPTIMISING:
        completion.advance(state, parts, count, score, TIED * scale, max_calls)
        return
    if not score > -np.inf:
        state.counters[PHASE] = INFEASIBLE
        return
    _take_gap(state, parts, count, score)
    if state.gap[0] <= max(0.5 * tol * tol, ROUNDING * scale):
        completion.begin(state, max_calls)
        return
    if not _include(state, parts, count, score, ROUNDING * scale):
        if state.gap[0] <= STALLED * scale:
            completion.begin(state, max_calls)
            return
        _start_again(state, parts, count, score)
    _settle(state)
    _set_query(state)
    if state.counters[CALLS] >= max_calls:
        state.counters[PHASE] = STOPPED


@inner
def fail(state: ActiveSet) -> None:
    """Set the final phase after a query that forbids every structure.

    The item is infeasible, or, if the completion has begun, its face is complete.
    """
    state.counters[PHASE] = INFEASIBLE if state.counters[PHASE] == OPTIMISING else CONVERGED


@inner
def _take_gap(state: ActiveSet, parts: Array, count: int, score: float) -> None:
    """Set the duality gap, given the structure of the largest gain; leave it infinite if the set is empty."""
    if state.counters[SIZE] == 0:
        return
    square, mean = 0.0, 0.0
    for i in range(state.point.shape[0]):
        square += state.point[i] * state.point[i]
    for j in range(state.counters[SIZE]):
        mean += state.weights[j] * state.scores[j]
    state.gap[0] = max((score - mean) - (total(state.point, parts, count) - square), 0.0)


@inner
def _start_again(state: ActiveSet, parts: Array, count: int, score: float) -> None:
    """Restart from one structure alone: rounding of huge scores has made the weights imprecise."""
    state.counters[SIZE] = 0
    state.base[0] += score
    _include(state, parts, count, 0.0, 0.0)


@inner
def _include(state: ActiveSet, parts: Array, count: int, score: float, rounding: float) -> bool:
    """Add a structure; return False if it is in the set already, or affinely dependent on it without a gain.

    A structure that is affinely dependent on the set, but has a gain above ``rounding``, takes weight from the
    others until one of them has none left and is removed. ``score`` is relative to ``state.base``.
    """
    weight = 0.0
    if state.counters[SIZE] == 0:
        weight = 1.0
    while True:
        pivot = new_row(state, parts, count)
        if pivot < 0.0:
            return False
        if pivot > 0.0:
            append(state, parts, count, state.counters[CALLS] - 1, score, weight, pivot)
            return True
        shares, slope, step, leaving = state.workspace[0], score, np.inf, -1
        solve_back(state, state.factor[state.counters[SIZE]], shares)
        for j in range(state.counters[SIZE]):
            slope -= shares[j] * state.scores[j]
            if shares[j] > 1e-12 and state.weights[j] < step * shares[j]:
                step, leaving = state.weights[j] / shares[j], j
        if slope <= rounding or leaving < 0:
            return False
        for j in range(state.counters[SIZE]):
            state.weights[j] = max(state.weights[j] - step * shares[j], 0.0)
        weight += step
        remove(state, leaving)


@inner
def _settle(state: ActiveSet) -> None:
    """Move to the best point of the affine hull; remove structures whose weight falls to 0 on the way."""
    while True:
        size = state.counters[SIZE]
        best, ones = state.workspace[0], state.workspace[1]
        solve_back(state, state.solved[0], best)
        solve_back(state, state.solved[1], ones)
        shift = (1.0 - best[:size].sum()) / ones[:size].sum()
        step, leaving = 1.0, -1
        for j in range(size):
            best[j] += shift * ones[j]
            if best[j] <= 0.0:
                along = state.weights[j] / (state.weights[j] - best[j]) if state.weights[j] > 0.0 else 0.0
                if leaving < 0 or along < step:
                    step, leaving = along, j
        for j in range(size):
            state.weights[j] = max(state.weights[j] + step * (best[j] - state.weights[j]), 0.0)
        if leaving < 0 or size == 1:
            return
        remove(state, leaving)


@inner
def _set_query(state: ActiveSet) -> None:
    """Update the point, and set the next query to the gradient of the objective, ``main - point``."""
    mix(state)
    for i in range(state.query.shape[0]):
        state.query[i] = state.main[i] - state.point[i]
