"""What the active set keeps for each item: the structures found, their weights, and a factor of their products."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import inner, kernel

Array = npt.NDArray[Any]

SIZE, CALLS, PHASE = 0, 1, 2
"""Places of `ActiveSet.counters`."""

OPTIMISING, ABOVE, BELOW, CONVERGED, STOPPED, INFEASIBLE = 0, 1, 2, 3, 4, 5
"""Phases: looking for the optimum, for more structures of its face in a direction and against it; and the ends."""


class ActiveSet(NamedTuple):
    """One item, or many with a batch axis in front: d parts, at most p in a structure, room for k structures.

    Attributes:
        main: ``(d,)``, the scores of the parts.
        point: ``(d,)``, the convex combination of the structures.
        query: ``(d,)``, the scores for the next call of the oracle.
        marks: ``(d,)``, room to mark the parts of a structure.
        parts: ``(k, p)``, the parts of each structure, in the rows that ``slots`` names.
        slots: ``(k,)``, the row of each structure in use; the first rows that are free follow.
        counts: ``(k,)``, the number of parts of each structure.
        origins: ``(k,)``, the call that found it, from 0 on; -1 - j for structure j of those to begin with.
        scores: ``(k,)``, the score of each structure, with what it earns beyond its parts, less that of the first.
        base: ``(1,)``, the score of the first: only differences matter, and huge scores leave them few digits.
        weights: ``(k,)``.
        factor: ``(k, k)``, lower triangle L with L L' = G + 1, where G counts the parts in common.
        solved: ``(2, k)``, L solved for the scores and for ones.
        room: ``(3, k)``, room for vectors.
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
    room: Array
    counters: Array
    gap: Array


@kernel
def make(items: int, d: int, p: int, k: int) -> ActiveSet:
    """Room for so many items."""
    return ActiveSet(
        np.empty((items, d)), np.empty((items, d)), np.empty((items, d)), np.zeros((items, d), np.bool_),
        np.empty((items, k, p), np.int32), np.empty((items, k), np.int64), np.empty((items, k), np.int64),
        np.empty((items, k), np.int64), np.empty((items, k)), np.empty((items, 1)), np.empty((items, k)),
        np.empty((items, k, k)), np.empty((items, 2, k)), np.empty((items, 3, k)),
        np.zeros((items, 3), np.int64), np.empty((items, 1)),
    )  # fmt: skip


@kernel
def of_item(sets: ActiveSet, b: int, d: int) -> ActiveSet:
    """The active set of one item with d parts."""
    return ActiveSet(
        sets.main[b, :d], sets.point[b, :d], sets.query[b, :d], sets.marks[b, :d], sets.parts[b],
        sets.slots[b], sets.counts[b], sets.origins[b], sets.scores[b], sets.base[b], sets.weights[b],
        sets.factor[b], sets.solved[b], sets.room[b], sets.counters[b], sets.gap[b],
    )  # fmt: skip


@inner
def is_open(state: ActiveSet) -> bool:
    """Whether another answer of the oracle is wanted."""
    return bool(state.counters[PHASE] < CONVERGED)


@inner
def mix(state: ActiveSet) -> None:
    """The point that the weights make."""
    state.point[:] = 0.0
    for j in range(state.counters[SIZE]):
        row, weight = state.parts[state.slots[j]], state.weights[j]
        for i in range(state.counts[j]):
            state.point[row[i]] += weight


@kernel
def total(values: Array, parts: Array, count: int) -> float:
    """The sum of values over the parts of a structure."""
    found = 0.0
    for i in range(count):
        found += values[parts[i]]
    return found
