"""Active sets of a batch side by side, for an oracle that processes all items in one call."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.interpreted import current
from strukt.kernels.jit import kernel, write
from strukt.kernels.sparsemap import active_set
from strukt.kernels.sparsemap.result import Result, Settings, Start, close_item, open_item
from strukt.kernels.sparsemap.state import CONVERGED, PHASE, ActiveSet, is_open, make, of_item

FIRST_CAPACITY = 62
"""The initial capacity for structures, in addition to those of the start."""


@kernel
def begin(scores: Array, start: Start, sets: ActiveSet) -> None:
    """Start all items; scores are ``(batch, d)``."""
    for b in range(scores.shape[0]):
        state = of_item(sets, b, scores.shape[1])
        write(state.main, scores[b])
        open_item(state, start, b)


@kernel
def advance(
    sets: ActiveSet, used: Array, extra: Array, feasible: Array, settings: Settings, start: int, step: int
) -> None:
    """Pass the structures that the oracle returned, one for each item, to all open items.

    Arrays: ``used (batch, d)``, the parts of each structure as Booleans; ``extra (batch,)``, its score in addition
    to the scores of its parts; ``feasible (batch,)``, False if every structure of the item is forbidden.
    """
    d = used.shape[1]
    parts = np.empty(d, np.int32)
    for b in range(start, used.shape[0], step):
        state = of_item(sets, b, d)
        if not is_open(state):
            continue
        if not feasible[b]:
            active_set.fail(state)
            continue
        count = 0
        for i in range(d):
            if used[b, i]:
                parts[count] = i
                count += 1
        active_set.advance(state, parts, count, extra[b], settings.max_calls, settings.tol)


def any_open(sets: ActiveSet) -> bool:
    """Return True if some item needs another call of the oracle."""
    return bool((sets.counters[:, PHASE] < CONVERGED).any())


@kernel
def close(sets: ActiveSet, result: Result) -> None:
    """Write the active sets of all items to the results."""
    for b in range(sets.counters.shape[0]):
        close_item(of_item(sets, b, sets.main.shape[1]), result, b)


def enlarged(sets: ActiveSet, k: int) -> ActiveSet:
    """Return the active sets with capacity for k structures."""
    items, old, p = sets.parts.shape
    larger: ActiveSet = current(make)(items, sets.main.shape[1], p, k)
    for new, values in zip(larger, sets, strict=True):
        new[tuple(slice(size) for size in values.shape)] = values
    larger.slots[:, old:] = np.arange(old, k)
    return larger
