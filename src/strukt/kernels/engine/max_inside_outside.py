"""Max-inside-outside: the best scores of cells, then the best score of a structure with each cell and weight."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT
from strukt.kernels.engine.rings import add_factors
from strukt.kernels.jit import inner, kept_apart


@inner
def level(weight_scores: Array, groups: Array, times: Array) -> float:
    """Subtract its best score from each group of which every structure uses one weight; return their sum.

    The sum is -inf if a group that all structures use has no possible weight. Groups of which structures use
    several weights are unchanged, so that ties remain ties. ``weight_scores (weights,)`` are overwritten; ``groups
    (groups + 1,)`` and ``times (groups,)`` are those of `Program`.
    """
    kept_apart()
    shift = 0.0
    for g in range(groups.shape[0] - 1):
        if times[g] == 0:
            continue
        top = -np.inf
        for i in range(groups[g], groups[g + 1]):
            top = max(top, weight_scores[i])
        if top == -np.inf:
            return top
        if times[g] == 1:
            for i in range(groups[g], groups[g + 1]):
                weight_scores[i] -= top
            shift += top
    return shift


@inner
def best(rows: Array, leaves: Array, weight_scores: Array, value: Array) -> None:
    """Write the best score of each cell, ``value (cells,)``, from scores ``weight_scores (weights,)``."""
    kept_apart()
    value[:] = -np.inf
    value[leaves] = 0.0
    for s in range(rows.shape[0]):
        left, count = np.uint64(rows[s, LEFT]), np.uint64(rows[s, COUNT])
        right, each = np.uint64(rows[s, RIGHT]), np.uint64(rows[s, EACH])
        top = -np.inf
        if rows[s, COUNT] == 1:
            top = value[left]
            if rows[s, RIGHT] >= 0:
                top += value[right]
            if rows[s, EACH] >= 0:
                top += weight_scores[each]
        elif rows[s, EACH] < 0:
            for k in range(count):
                top = max(top, value[left + k] + value[right + k])
        elif rows[s, RIGHT] < 0:
            for k in range(count):
                top = max(top, value[left + k] + weight_scores[each + k])
        else:
            for k in range(count):
                top = max(top, value[left + k] + value[right + k] + weight_scores[each + k])
        if rows[s, WEIGHT] >= 0:
            top += weight_scores[np.uint64(rows[s, WEIGHT])]
        value[np.uint64(rows[s, OUT])] = top
        value[np.uint64(rows[s, MIRROR])] = top


@inner
def bound(
    rows: Array, top: int, weight_scores: Array, value: Array, workspace: Array, around: Array, parts: Array,
    origins: Array | None, part_origins: Array | None,
) -> None:  # fmt: skip
    """Write, for each weight, the best score of a structure that uses it, ``parts (weights,)``; -inf if none does.

    ``around (cells,)`` gets, for each cell, the best score of a structure that uses it, and ``workspace (terms,)``
    is overwritten. Unless they are None, ``origins (cells,)`` and ``part_origins (weights,)`` get the origins of
    both (see `strukt.kernels.engine.max_inside_outside_gradient.Bounds`).
    """
    kept_apart()
    around[:] = -np.inf
    parts[:] = -np.inf
    around[top] = value[top]
    if origins is not None:
        origins[top] = -1
    for s in range(rows.shape[0] - 1, -1, -1):
        out, left, right = rows[s, OUT], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        total = max(around[out], around[rows[s, MIRROR]])
        if total == -np.inf or value[out] == -np.inf:
            continue
        rest = total - value[out]
        if whole >= 0:
            if part_origins is not None and total > parts[whole]:
                part_origins[whole] = 2 * s + 1
            parts[whole] = max(parts[whole], total)
            rest += weight_scores[whole]
        workspace[:count] = rest
        add_factors(left, right, each, count, value, weight_scores, workspace)
        if each >= 0:
            _raise_run(workspace, parts, part_origins, each, count, 2 * s)
        _raise_run(workspace, around, origins, left, count, 2 * s)
        if right >= 0:
            _raise_run(workspace, around, origins, right, count, 2 * s + 1)


@inner
def _raise_run(
    workspace: Array, scores: Array, origins: Array | None, first: int, count: int, origin: int
) -> None:
    """Raise the scores of a run to larger entries of ``workspace``, and record their ``origin``; vectorised."""
    start, code = np.uint64(first), np.int32(origin)
    for k in range(np.uint64(count)):
        before = scores[start + k]
        if origins is None:
            scores[start + k] = max(before, workspace[k])
        else:
            kept = origins[start + k]  # read before scores are written, which is 10% faster
            scores[start + k] = workspace[k] if workspace[k] > before else before
            origins[start + k] = code if workspace[k] > before else kept
