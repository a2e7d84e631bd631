"""The state of an active set: structures, their weights, and the Cholesky factor of their inner products."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel

SIZE, CALLS, PHASE = 0, 1, 2
"""The indices into `ActiveSet.counters`."""

OPTIMISING, ABOVE, BELOW, CONVERGED, STOPPED, INFEASIBLE, SETTLING, OPTIMAL = range(8)
"""The phases: optimising; completing the face in a direction (ABOVE), and against it (BELOW); three final ones.

The dense sets of a batch (`strukt.kernels.sparsemap.dense`) have two more phases. SETTLING: the weights still move
to the optimum of the set. OPTIMAL: the optimum is reached, and the completion of its face has not begun.
"""


class ActiveSet(NamedTuple):
    """The active set of one item, or of many with a leading batch axis.

    There are d parts, at most p in a structure, and capacity for k structures. Only the entries of the structures
    in use are valid.

    Attributes:
        main: ``(d,)``, the scores of the parts.
        point: ``(d,)``, the convex combination of the structures.
        query: ``(d,)``, the scores for the next call of the oracle.
        marks: ``(d,)``, workspace to mark the parts of a structure.
        parts: ``(k, p)``, the parts of each structure, in the rows given by ``slots``.
        slots: ``(k,)``, the row in ``parts`` of each structure; the free rows follow.
        counts: ``(k,)``, the number of parts of each structure.
        origins: ``(k,)``, the call that returned each structure, from 0; -1 - j for structure j of the start.
        scores: ``(k,)``, the score of each structure minus ``base``: the sum over its parts, plus the ``extra``
            that `active_set.advance` received.
        base: ``(1,)``, the score of the first structure: only differences matter, and huge scores would round
            them.
        weights: ``(k,)``, the weight of each structure.
        factor: ``(k, k)``, lower triangle L with L L' = G + 1, where G counts the parts in common.
        solved: ``(2, k)``, the solutions of L for the scores and for ones.
        workspace: ``(3, k)``, for vectors.
        counters: ``(3,)``: the number of structures, the calls of the oracle, the phase.
        gap: ``(1,)``, the duality gap.
    """

    main: Array
    point: Array
    query: Array
    marks: Array
    parts: Array
    slots: Array
    counts: Array
    origins: Array
    scores: Array
    base: Array
    weights: Array
    factor: Array
    solved: Array
    workspace: Array
    counters: Array
    gap: Array


@kernel
def make(items: int, d: int, p: int, k: int) -> ActiveSet:
    """Allocate the active sets of ``items`` items."""
    return ActiveSet(
        np.empty((items, d)), np.empty((items, d)), np.empty((items, d)), np.zeros((items, d), np.bool_),
        np.empty((items, k, p), np.int32), np.empty((items, k), np.int64), np.empty((items, k), np.int64),
        np.empty((items, k), np.int64), np.empty((items, k)), np.empty((items, 1)), np.empty((items, k)),
        np.empty((items, k, k)), np.empty((items, 2, k)), np.empty((items, 3, k)),
        np.zeros((items, 3), np.int64), np.empty((items, 1)),
    )  # fmt: skip


@inner
def of_item(sets: ActiveSet, b: int, d: int) -> ActiveSet:
    """Return views of the active set of item b, with the first d parts only."""
    return ActiveSet(
        sets.main[b, :d], sets.point[b, :d], sets.query[b, :d], sets.marks[b, :d], sets.parts[b],
        sets.slots[b], sets.counts[b], sets.origins[b], sets.scores[b], sets.base[b], sets.weights[b],
        sets.factor[b], sets.solved[b], sets.workspace[b], sets.counters[b], sets.gap[b],
    )  # fmt: skip


@inner
def is_open(state: ActiveSet) -> bool:
    """Return True if another call of the oracle is needed."""
    return bool(state.counters[PHASE] < CONVERGED)


@inner
def mix(state: ActiveSet) -> None:
    """Write ``point``, the mean of the structures, weighted by ``weights``."""
    state.point[:] = 0.0
    for j in range(state.counters[SIZE]):
        row, weight = state.parts[state.slots[j]], state.weights[j]
        for i in range(state.counts[j]):
            state.point[row[i]] += weight


@inner
def total(values: Array, parts: Array, count: int) -> float:
    """Return the sum of ``values (d,)`` over a structure's parts, the first ``count`` indices in ``parts``."""
    result = 0.0
    for i in range(count):
        result += values[parts[i]]
    return result
