"""Completion of an active set by structures of weight 0 that span the optimal face, so that derivatives are exact.

As scores change, the solution moves within its face of the polytope. If scores tie, the optimum may be a
combination of fewer structures than span the face, and these do not determine how it moves. Two calls of the
oracle, in a direction orthogonal to their affine hull and against it, show whether the hull is the whole face.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner
from strukt.kernels.sparsemap.factor import append, new_row, solve_back, solve_forward
from strukt.kernels.sparsemap.state import ABOVE, BELOW, CALLS, CONVERGED, PHASE, SIZE, ActiveSet, total

SLIGHT = 1e-6
"""The step along the direction, smaller than usual differences in gain from structures outside the face."""

CERTAIN = 1e-12
"""The distance from 0 or 1 within which a marginal counts as 0 or 1."""


@inner
def begin(state: ActiveSet, max_calls: int) -> None:
    """Start the completion of a set whose weights are optimal; set the first query, or the phase to CONVERGED."""
    _set_query(state, ABOVE, max_calls)


@inner
def advance(state: ActiveSet, parts: Array, count: int, score: float, tied: float, max_calls: int) -> None:
    """Add the oracle's structure if it is a new one of the face; set the next query, or the phase to CONVERGED.

    A structure of the face has the same gain as the others, up to ``tied``. Its ``score`` is relative to
    ``state.base``, and the first ``count`` entries of ``parts`` are its parts.
    """
    pivot = new_row(state, parts, count) if _is_of_face(state, parts, count, score, tied) else 0.0
    if pivot > 0.0:
        append(state, parts, count, state.counters[CALLS] - 1, score, 0.0, pivot)
        _set_query(state, ABOVE, max_calls)
    elif state.counters[PHASE] == ABOVE:
        _set_query(state, BELOW, max_calls)
    else:
        state.counters[PHASE] = CONVERGED


@inner
def _is_of_face(state: ActiveSet, parts: Array, count: int, score: float, tied: float) -> bool:
    """Return True if a structure uses all parts of marginal 1, and has the gain of the others, up to ``tied``."""
    if not score > -np.inf:
        return False
    gain = score - total(state.point, parts, count)
    first = state.parts[state.slots[0]]
    level = state.scores[0] - total(state.point, first, state.counts[0])
    certain, used = 0, 0
    for i in range(state.point.shape[0]):
        certain += int(state.point[i] >= 1.0 - CERTAIN)
    for i in range(count):
        used += int(state.point[parts[i]] >= 1.0 - CERTAIN)
    return bool(abs(gain - level) <= tied and used == certain)


@inner
def _set_query(state: ActiveSet, phase: int, max_calls: int) -> None:
    """Set the query to the gradient plus a slight step orthogonal to the hull.

    The step moves the parts with marginals between 0 and 1; parts of marginal 0 are forbidden. If nothing can
    move, or neither calls nor space for structures are left, set the phase to CONVERGED instead.
    """
    free = _set_direction(state)
    full = state.counters[SIZE] == state.slots.shape[0] - 1 or state.counters[CALLS] >= max_calls
    if free == 0 or full:
        state.counters[PHASE] = CONVERGED
        return
    state.counters[PHASE] = phase
    largest = 0.0
    for i in range(state.query.shape[0]):
        if state.point[i] > CERTAIN:
            largest = max(largest, abs(state.query[i]))
    if largest < 1e-7:
        state.counters[PHASE] = CONVERGED
        return
    step = SLIGHT / largest if phase == ABOVE else -SLIGHT / largest
    for i in range(state.query.shape[0]):
        lifted = state.main[i] - state.point[i] + step * state.query[i]
        state.query[i] = lifted if state.point[i] > CERTAIN else -np.inf


@inner
def _set_direction(state: ActiveSet) -> int:
    """Write pseudo-random numbers for the free parts, minus their projection onto the affine hull, to ``query``.

    Free parts have marginals between 0 and 1. Return the number of free parts.
    """
    size, free = state.counters[SIZE], 0
    state.query[:] = 0.0
    for i in range(state.query.shape[0]):
        if CERTAIN < state.point[i] < 1.0 - CERTAIN:
            free += 1
            state.query[i] = 43758.5453 * np.sin(12.9898 * (i + 1) + 78.233 * size) % 1.0 - 0.5
    shares, ones = state.workspace[0], state.workspace[1]
    for j in range(size):
        state.workspace[2, j] = total(state.query, state.parts[state.slots[j]], state.counts[j])
    solve_forward(state, state.workspace[2])
    solve_back(state, state.workspace[2], shares)
    solve_back(state, state.solved[1], ones)
    shift = shares[:size].sum() / ones[:size].sum()
    for j in range(size):
        row, share = state.parts[state.slots[j]], shares[j] - shift * ones[j]
        for i in range(state.counts[j]):
            state.query[row[i]] -= share
    return free
