"""Derivatives of totals and marginals: a forward pass over cells (growth), a backward pass to weights (change).

The log of each weight moves along a direction. The growth of a cell is the derivative of its log: the expected sum
of the directions of the weights below it. The two passes multiply the Hessian of the log-partition by the
direction.

Arrays that a docstring does not describe are those of `strukt.kernels.engine.inside_outside`.
"""

from __future__ import annotations

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT
from strukt.kernels.engine.rings import add_factors, mean_of, share_out, shares
from strukt.kernels.jit import inner, kept_apart


@inner
def growth(
    rows: Array, weight: Array, power: Array | None, value: Array, exponent: Array | None, workspace: Array,
    powers: Array, direction: Array, grown: Array,
) -> None:  # fmt: skip
    """Write the derivative of the log of each cell, ``grown (cells,)``, along ``direction (weights,)``."""
    kept_apart()
    grown[:] = 0.0
    for s in range(rows.shape[0]):
        out, left, right = rows[s, OUT], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        mean = 0.0
        if count == 1:
            mean = sum_of_one(grown, direction, left, right, each)
        else:
            shares(value, exponent, weight, power, out, whole, left, right, each, count, workspace, powers)
            mean = mean_of(workspace, grown, left, count)
            if right >= 0:
                mean += mean_of(workspace, grown, right, count)
            if each >= 0:
                mean += mean_of(workspace, direction, each, count)
        if whole >= 0:
            mean += direction[whole]
        grown[out] = mean
        grown[rows[s, MIRROR]] = mean


@inner
def sum_of_one(cells: Array, weights: Array, left: int, right: int, each: int) -> float:
    """Return the sum of the entries of ``cells`` and ``weights`` at the factors of a row's only term."""
    total = cells[left]
    if right >= 0:
        total += cells[right]
    if each >= 0:
        total += weights[each]
    return total  # type: ignore[no-any-return]


@inner
def change(
    rows: Array, weight: Array, power: Array | None, value: Array, exponent: Array | None, workspace: Array,
    powers: Array, mass: Array, direction: Array, grown: Array, moves: Array, changes: Array, parts: Array,
) -> None:  # fmt: skip
    """Write the derivative of each weight's use, ``parts (weights,)``, along ``direction``.

    `inside_outside.outside` and `growth` must run first: their results are ``mass`` and ``grown``. ``changes
    (cells,)`` and ``moves (terms,)`` are overwritten.
    """
    kept_apart()
    changes[:] = 0.0
    parts[:] = 0.0
    for s in range(rows.shape[0] - 1, -1, -1):
        out, mirror, left, right = rows[s, OUT], rows[s, MIRROR], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        moving, total = changes[out], mass[out]
        if mirror != out:
            moving += changes[mirror]
        if whole >= 0:
            parts[whole] += moving
        if total == 0.0:
            continue
        if count == 1:
            pass_on(left, right, each, moving, changes, parts)
            continue
        expected = grown[out] - direction[whole] if whole >= 0 else grown[out]
        shares(value, exponent, weight, power, out, whole, left, right, each, count, workspace, powers)
        moves[:count] = 0.0
        add_factors(left, right, each, count, grown, direction, moves)
        for k in range(count):
            workspace[k] *= moving + total * (moves[k] - expected)
        share_out(left, right, each, count, workspace, changes, parts)


@inner
def pass_on(left: int, right: int, each: int, share: float, cells: Array, weights: Array) -> None:
    """Add ``share`` to the entries of ``cells`` and ``weights`` at the factors of a row's only term."""
    cells[left] += share
    if right >= 0:
        cells[right] += share
    if each >= 0:
        weights[each] += share
