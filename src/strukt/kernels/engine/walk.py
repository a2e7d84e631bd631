"""Walks from the top cell down, which choose a term of each sum: the weights on the way make up a structure."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, choice_of_value
from strukt.kernels.cpu_sample import Kept, accumulate, find, row_of, uniform
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT
from strukt.kernels.engine.rings import add_factors, shares
from strukt.kernels.jit import inner, kept_apart, kernel


@kernel
def extent(rows: Array, cells: int, degrees: Array) -> Array:
    """Return four maxima of the walks from each cell down, ``(cells, 4)``.

    These are the number of choices (sums of several terms), the number of weights, the number of cells on the
    stack, and the sum of the degrees of weights. ``rows (rows, 7)`` and ``degrees (weights,)`` are those of
    `Program`.
    """
    sizes = np.zeros((cells, 4), np.int64)
    sizes[:, 2] = 1
    most = np.empty(4, np.int64)
    for s in range(rows.shape[0]):
        left, right, count = rows[s, LEFT], rows[s, RIGHT], rows[s, COUNT]
        whole, each = rows[s, WEIGHT], rows[s, EACH]
        most[:] = 0
        most[2] = 1
        for k in range(count):
            a, weight_degree = sizes[left + k], degrees[each + k] if each >= 0 else 0
            choices, used, waiting, degree = a[0], a[1], a[2], a[3] + weight_degree
            if right >= 0:
                b = sizes[right + k]
                choices += b[0]
                used += b[1]
                waiting = max(waiting + 1, b[2])
                degree += b[3]
            most[0], most[1] = max(most[0], choices), max(most[1], used)
            most[2], most[3] = max(most[2], waiting), max(most[3], degree)
        most[0] += int(count > 1)
        most[1] += int(whole >= 0) + int(each >= 0)
        most[3] += degrees[whole] if whole >= 0 else 0
        for j in range(4):  # assigning arrays takes seconds to compile
            sizes[rows[s, OUT], j] = sizes[rows[s, MIRROR], j] = most[j]
    return sizes


@inner
def _enter(row: Array, k: int, depth: int, stack: Array, count: int, used: Array) -> tuple[int, int]:
    """Append the weights of a row and of its term k to ``used``, and push the cells of the term onto the stack.

    ``depth`` cells are on the stack, and ``count`` weights in ``used``. Return both numbers afterwards.
    """
    if row[WEIGHT] >= 0:
        used[count] = row[WEIGHT]
        count += 1
    if row[EACH] >= 0:
        used[count] = row[EACH] + k
        count += 1
    if row[RIGHT] >= 0:
        stack[depth] = row[RIGHT] + k
        depth += 1
    stack[depth] = row[LEFT] + k
    return depth + 1, count


@inner
def follow(
    rows: Array, maker: Array, top: int, weight_scores: Array, value: Array, search: Search, rank: int,
    deviation: int, score: float, stack: Array, workspace: Array, used: Array,
) -> tuple[int, int]:  # fmt: skip
    """Trace the structure of a rank in a k-best search from cell ``top`` down; write its weights to ``used``.

    Each sum of several terms on the way is a choice; choices are numbered as they are met. Up to the number
    ``deviation``, the choices recorded in ``search`` are repeated. After it, the best term is chosen, and the
    others are queued as candidates for later ranks (see `strukt.kernels.cpu_kbest`). ``score`` is that of the
    structure, and ``value (cells,)`` the best score of each cell. ``stack`` and ``workspace (terms,)`` are
    overwritten. Return the numbers of weights and of choices.
    """
    kept_apart()
    depth, count, place = 1, 0, 0
    stack[0] = top
    while depth > 0:
        depth -= 1
        s = maker[stack[depth]]
        if s < 0:
            continue
        row, k = rows[s], 0
        terms = row[COUNT]
        if terms > 1:
            if place > deviation:
                workspace[:terms] = 0.0
                add_factors(row[LEFT], row[RIGHT], row[EACH], terms, value, weight_scores, workspace)
            k = choice_of_value(search, rank, place, deviation, score, workspace[:terms])
            place += 1
        depth, count = _enter(row, k, depth, stack, count, used)
    return count, place


@inner
def draw(
    rows: Array, maker: Array, top: int, weight: Array, power: Array | None, value: Array,
    exponent: Array | None, state: Array, stack: Array, kept: Kept, powers: Array, used: Array,
) -> int:  # fmt: skip
    """Draw an exact sample, write its weights to ``used``, and return their number. The total must not be 0.

    ``kept`` caches the cumulative shares of rows for further samples. ``state (1,)`` is that of the generator of
    random numbers (`strukt.kernels.cpu_sample.uniform`). ``stack`` and ``powers (terms,)`` are overwritten. The
    other arrays are those of `inside_outside.inside`.
    """
    kept_apart()
    flat, width = kept.sums.reshape(-1), kept.sums.shape[1]
    depth, count = 1, 0
    stack[0] = top
    while depth > 0:
        depth -= 1
        s = maker[stack[depth]]
        if s < 0:
            continue
        row, chosen = rows[s], 0
        if row[COUNT] > 1:
            place, is_known = row_of(kept, s)
            if not is_known:
                shares(
                    value, exponent, weight, power, row[OUT], row[WEIGHT], row[LEFT], row[RIGHT], row[EACH],
                    row[COUNT], kept.sums[place], powers,
                )  # fmt: skip
                accumulate(kept.sums[place, : row[COUNT]])
            chosen = find(flat, place * width, row[COUNT], uniform(state))
        depth, count = _enter(row, chosen, depth, stack, count, used)
    return count
