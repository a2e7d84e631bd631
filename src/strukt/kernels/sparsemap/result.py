"""The results of the active sets of a batch, and their warm starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, over_batch
from strukt.kernels.sparsemap import active_set
from strukt.kernels.sparsemap.state import CALLS, PHASE, SIZE, ActiveSet, make


class Settings(NamedTuple):
    """The settings of active sets.

    Attributes:
        max_calls: Maximum number of calls of the oracle for one item.
        tol: The error in the marginals at which to stop.
    """

    max_calls: int
    tol: float


class Start(NamedTuple):
    """The k structures to start from, for each item of a batch; none if k is 0.

    Attributes:
        parts: ``(batch, k, p)``, the indices of the parts of each structure.
        counts: ``(batch, k)``, the number of parts of each structure.
        extra: ``(batch, k)``, the score of each structure in addition to the scores of its parts.
        weights: ``(batch, k)``, the weight of each structure; 0 for a structure to ignore.
    """

    parts: Array
    counts: Array
    extra: Array
    weights: Array


class Result(NamedTuple):
    """The active sets of a batch at the end: structures and their weights.

    Attributes:
        parts: ``(batch, k, p)``, the indices of the parts of each structure, padded with -1.
        counts: ``(batch, k)``, the number of parts of each structure.
        origins: ``(batch, k)``, the call that returned each structure, or -1 - j for structure j of the start.
        weights: ``(batch, k)``, the weight of each structure.
        sizes: ``(batch,)``, the number of structures; only the first ``sizes`` entries of the k are valid.
        calls: ``(batch,)``, the number of calls of the oracle.
        phases: ``(batch,)``, the final phase: CONVERGED, STOPPED or INFEASIBLE.
        gaps: ``(batch,)``, the duality gap.
    """

    parts: Array
    counts: Array
    origins: Array
    weights: Array
    sizes: Array
    calls: Array
    phases: Array
    gaps: Array


def no_start(batch: int, p: int) -> Start:
    """Return a start without structures."""
    return Start(
        np.empty((batch, 0, p), np.int32), np.empty((batch, 0), np.int64), np.empty((batch, 0)),
        np.empty((batch, 0))
    )  # fmt: skip


def capacity(d: int, start: Start, settings: Settings) -> int:
    """Return the capacity of an active set that never needs to be enlarged, with one structure to spare.

    At most d + 1 structures are affinely independent, and each call adds at most one.
    """
    begun: int = start.weights.shape[1]
    return min(d, begun + settings.max_calls) + 2


def make_result(batch: int, k: int, p: int) -> Result:
    """Allocate the results of a batch."""
    return Result(
        np.empty((batch, k, p), np.int32), np.empty((batch, k), np.int64), np.empty((batch, k), np.int64),
        np.empty((batch, k)), np.zeros(batch, np.int64), np.zeros(batch, np.int64), np.zeros(batch, np.int64),
        np.zeros(batch),
    )  # fmt: skip


def solve(
    driver: Callable[..., None], threads: int, batch: int, d: int, p: int, start: Start, settings: Settings,
    *arrays: Any,
) -> Result:  # fmt: skip
    """Run ``driver(*arrays, start, settings, sets, result, first, step)`` on all items, in threads.

    Args:
        driver: A kernel that solves the items ``range(first, batch, step)``, including the calls of the oracle. It
            uses active set ``first`` of ``sets``, which has one for each thread, and writes to ``result``.
        threads: The number of threads.
        batch: The number of items.
        d: The number of parts.
        p: The largest number of parts in a structure.
        start: The structures to start from.
        settings: The maximum number of calls, and the tolerance.
        arrays: The first arguments of the driver.
    """
    k = capacity(d, start, settings)
    result = make_result(batch, k, p)
    over_batch(driver, threads, *arrays, start, settings, make(threads, d, p, k), result)
    return result


def listed(used: npt.NDArray[np.bool_], p: int) -> tuple[Array, Array]:
    """Return the parts that structures use, as indices ``(..., p)`` padded with 0, and their number ``(...)``.

    Args:
        used: ``(..., d)``, True for each part that a structure uses.
        p: The largest number of parts in a structure.
    """
    counts = np.ascontiguousarray(used.sum(-1))  # other layouts would compile other kernels
    parts = np.zeros((*counts.shape, p), np.int32)
    *rows, places = np.nonzero(used)
    parts[(*rows, (used.cumsum(-1) - 1)[used])] = places
    return parts, counts


@inner
def open_item(state: ActiveSet, start: Start, b: int) -> None:
    """Start the active set of item b from its warm start, if any; ``state.main`` must hold the scores."""
    if start.weights.shape[1]:
        active_set.resume(state, start.parts[b], start.counts[b], start.extra[b], start.weights[b])
    else:
        active_set.begin(state)


@inner
def close_item(state: ActiveSet, result: Result, b: int) -> None:
    """Write the active set of item b to the results."""
    size = state.counters[SIZE]
    for j in range(size):
        row = state.parts[state.slots[j]]
        for i in range(state.counts[j]):
            result.parts[b, j, i] = row[i]
        for i in range(state.counts[j], result.parts.shape[2]):
            result.parts[b, j, i] = -1
        result.counts[b, j], result.weights[b, j] = state.counts[j], state.weights[j]
        result.origins[b, j] = state.origins[j]
    result.sizes[b], result.calls[b] = size, state.counters[CALLS]
    result.phases[b], result.gaps[b] = state.counters[PHASE], state.gap[0]
