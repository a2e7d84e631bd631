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
    rows: Array, top: int, weight_scores: Array, value: Array, workspace: Array, around: Array, parts: Array
) -> None:
    """Write, for each weight, the best score of a structure that uses it, ``parts (weights,)``; -inf if none does.

    ``around (cells,)`` gets, for each cell, the best score of a structure that uses it, and ``workspace (terms,)``
    is overwritten.
    """
    kept_apart()
    around[:] = -np.inf
    parts[:] = -np.inf
    around[top] = value[top]
    for s in range(rows.shape[0] - 1, -1, -1):
        out, left, right = rows[s, OUT], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        total = max(around[out], around[rows[s, MIRROR]])
        if total == -np.inf or value[out] == -np.inf:
            continue
        rest = total - value[out]
        if whole >= 0:
            parts[whole] = max(parts[whole], total)
            rest += weight_scores[whole]
        workspace[:count] = rest
        add_factors(left, right, each, count, value, weight_scores, workspace)
        if each >= 0:
            _raise_run(workspace, parts, each, count)
        _raise_run(workspace, around, left, count)
        if right >= 0:
            _raise_run(workspace, around, right, count)


@inner
def _raise_run(workspace: Array, values: Array, first: int, count: int) -> None:
    """Raise ``values[first + k]`` to ``workspace[k]`` if this is larger, for each k < ``count``."""
    start = np.uint64(first)
    for k in range(np.uint64(count)):
        values[start + k] = max(values[start + k], workspace[k])
