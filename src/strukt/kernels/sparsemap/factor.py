"""The Cholesky factor of an active set, updated in O(k^2) when a structure is added or removed.

The matrix G + 1, where G counts the parts that structures share and 1 is the matrix of ones, is positive definite
if and only if the structures are affinely independent. With L L' = G + 1 and weights w that sum to one, the
optimality condition G w + t 1 = s, with a multiplier t, becomes L L' w = s + (1 - t) 1.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, write
from strukt.kernels.sparsemap.state import SIZE, ActiveSet

INDEPENDENT = 1e-9
"""The pivot of a structure, relative to its squared norm plus 1, below which it counts as affinely dependent."""


@inner
def new_row(state: ActiveSet, parts: Array, count: int) -> float:
    """Write the row of the factor for one more structure, without the pivot; return the squared pivot.

    The result is 0 if the structure is in the affine hull of the set, and -1 if it is in the set already.
    """
    size, row = state.counters[SIZE], state.factor[state.counters[SIZE]]
    for i in range(count):
        state.marks[parts[i]] = True
    same = False
    for j in range(size):
        other, common = state.parts[state.slots[j]], 0
        for i in range(state.counts[j]):
            common += int(state.marks[other[i]])
        same |= common == count and common == state.counts[j]
        row[j] = common + 1.0
    for i in range(count):
        state.marks[parts[i]] = False
    if same:
        return -1.0
    pivot = count + 1.0
    for j in range(size):
        row[j] = (row[j] - _inner_product(row, state.factor[j], j)) / state.factor[j, j]
        pivot -= row[j] * row[j]
    return pivot if pivot > INDEPENDENT * (count + 1.0) else 0.0


@inner
def append(
    state: ActiveSet, parts: Array, count: int, origin: int, score: float, weight: float, pivot: float
) -> None:
    """Add a structure whose row of the factor `new_row` has written, with the squared pivot that it returned.

    ``origin``, ``score`` and ``weight`` are entries of `ActiveSet`.
    """
    size = state.counters[SIZE]
    slot = state.slots[size]
    for i in range(count):
        state.parts[slot, i] = parts[i]
    state.counts[size], state.scores[size], state.weights[size] = count, score, weight
    state.origins[size] = origin
    state.factor[size, size] = np.sqrt(pivot)
    state.counters[SIZE] = size + 1
    _solve_from(state, size)


@inner
def remove(state: ActiveSet, leaving: int) -> None:
    """Remove the structure of index ``leaving``; rotations make the factor triangular again."""
    size, factor = state.counters[SIZE] - 1, state.factor
    slot = state.slots[leaving]
    for i in range(leaving, size):
        state.slots[i], state.counts[i] = state.slots[i + 1], state.counts[i + 1]
        state.scores[i], state.weights[i] = state.scores[i + 1], state.weights[i + 1]
        state.origins[i] = state.origins[i + 1]
        write(factor[i, : i + 2], factor[i + 1, : i + 2])
    state.slots[size] = slot
    state.counters[SIZE] = size
    for i in range(leaving, size):
        length = np.hypot(factor[i, i], factor[i, i + 1])
        cosine, sine = factor[i, i] / length, factor[i, i + 1] / length
        factor[i, i] = length
        for row in range(i + 1, size):
            x, y = factor[row, i], factor[row, i + 1]
            factor[row, i] = cosine * x + sine * y
            factor[row, i + 1] = cosine * y - sine * x
    _solve_from(state, leaving)


@inner
def solve_back(state: ActiveSet, right: Array, out: Array) -> None:
    """Solve L' x = right, and write x to ``out``, both ``(k,)``, for the structures in use."""
    size = state.counters[SIZE]
    write(out[:size], right[:size])
    for i in range(size - 1, -1, -1):
        row = state.factor[i]
        out[i] /= row[i]
        for j in range(i):
            out[j] -= row[j] * out[i]


@inner
def solve_forward(state: ActiveSet, out: Array) -> None:
    """Solve L x = out in place, ``(k,)``, for the structures in use."""
    for i in range(state.counters[SIZE]):
        out[i] = (out[i] - _inner_product(state.factor[i], out, i)) / state.factor[i, i]


@inner
def _solve_from(state: ActiveSet, first: int) -> None:
    """Update ``solved``, the solutions x of L x = scores and of L x = 1, from index ``first`` on."""
    for i in range(first, state.counters[SIZE]):
        row = state.factor[i]
        state.solved[0, i] = (state.scores[i] - _inner_product(row, state.solved[0], i)) / row[i]
        state.solved[1, i] = (1.0 - _inner_product(row, state.solved[1], i)) / row[i]


@inner
def _inner_product(left: Array, right: Array, count: int) -> float:
    """Return the inner product of the first ``count`` entries."""
    result = 0.0
    for i in range(count):
        result += left[i] * right[i]
    return result
