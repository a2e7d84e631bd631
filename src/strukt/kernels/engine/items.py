"""Sums, their gradients and entropies for the items of a batch that share a table.

Each kernel takes the table, the indices of the items that it computes, ``items (count,)``, and the ring: None
for plain numbers, an array without entries for extended ones. Scores are ``(batch, places)``, or ``(batch, places,
features, values)`` where a weight is a sum over values. A row of a ``chart (batch, entries)`` begins with the ring
of the item (`IMPOSSIBLE`, `PLAIN` or `EXTENDED`) and the constant of its weights (`rings.load`). The cells follow,
which are recomputed for extended items, and then the logs of the weights if these are sums over values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine import entropy, growth, inside_outside, weights
from strukt.kernels.engine.program import COUNT, LEFT
from strukt.kernels.engine.rings import LEAST_ENTROPY, SMALLEST, count_out_of_range, load, take_logs
from strukt.kernels.engine.tables import Table
from strukt.kernels.jit import inner, kernel, write

IMPOSSIBLE, PLAIN, EXTENDED = 0.0, 1.0, 2.0
"""The ring of an item, as charts store it; an impossible item has no structure."""

HEAD = 2
"""The number of entries before the cells in a row of a chart."""


@inner
def exponents_of(ring: Array | None, count: int) -> Any:
    """Allocate ``count`` exponents; return None for plain numbers."""
    if ring is None:
        return None
    return np.empty(count, np.int64)


@inner
def _fill(
    table: Table, weight_scores: Array, ring: Array | None, weight: Array, power: Array | None, value: Array,
    exponent: Array | None, workspace: Array, powers: Array,
) -> tuple[float, float, float]:  # fmt: skip
    """Fill the weights and cells of an item; return its log-partition, its ring, and the constant of its weights.

    With plain numbers (``ring`` is None), the ring returned is `EXTENDED` if some number is out of their range;
    the log-partition is then wrong.
    """
    rows, groups, times, top = table.rows, table.groups, table.times, table.top
    degrees, progress = table.degrees, table.progress
    shift, constant, out_of_range = load(weight_scores, groups, times, degrees, progress, np.nan, weight, power)
    if shift == -np.inf:
        value[top] = 0.0
        return shift, IMPOSSIBLE, constant
    inside_outside.inside(rows, table.leaves, weight, power, value, exponent, workspace, powers)
    if ring is None and not table.probable:
        out_of_range += count_out_of_range(value, 0.0, value)
        if out_of_range > 0 and not np.isnan(constant):
            constant = inside_outside.better_constant(rows, table.degree, value, constant)
            shift, constant, out_of_range = load(
                weight_scores, groups, times, degrees, progress, constant, weight, power
            )
            inside_outside.inside(rows, table.leaves, weight, power, value, exponent, workspace, powers)
            out_of_range += count_out_of_range(value, 0.0, value)
    log_total = shift + inside_outside.log_total(value, exponent, top)
    return log_total, _ring_of(ring, table.probable, out_of_range, value[top]), constant


@inner
def _ring_of(ring: Array | None, probable: bool, out_of_range: int, total: float) -> float:
    """Return the ring of an item, from its total and the number of its weights and cells out of range."""
    if ring is not None:
        return EXTENDED if total > 0.0 else IMPOSSIBLE
    if probable:
        return PLAIN if total > SMALLEST else EXTENDED
    if out_of_range > 0:
        return EXTENDED
    return PLAIN if total > 0.0 else IMPOSSIBLE


@inner
def logs_of(table: Table, scores: Array, row: Array, workspace: Array) -> Array:
    """Return the logs of an item's weights: from its ``row (entries,)`` of the chart, or else from its scores.

    The chart has them if weights are sums over values. ``workspace (weights,)`` may be overwritten.
    """
    if scores.ndim > 1:
        first = HEAD + table.maker.shape[0]
        return row[first : first + table.places.shape[0]]
    weights.gather(scores, table.places, workspace)
    return workspace[:]


@kernel
def totals(
    table: Table, items: Array, ring: Array | None, scores: Array, chart: Array, log_partition: Array
) -> None:
    """Write ``log_partition (batch,)`` and the ``chart``; for the other arguments see the module's docstring.

    With plain numbers, an item with numbers out of their range gets the ring `EXTENDED` in its chart. Its
    log-partition is then wrong, and must be recomputed with extended numbers.
    """
    cells, count = table.maker.shape[0], table.places.shape[0]
    weight, power, logs = np.empty(count), exponents_of(ring, count), np.empty(count)
    exponent, again = exponents_of(ring, cells), np.empty(cells if ring is not None else 0)
    workspace, powers = np.empty(table.longest), np.empty(table.longest, np.int64)
    for b in items:
        value = chart[b, HEAD : HEAD + cells] if ring is None else again
        weight_scores = chart[b, HEAD + cells : HEAD + cells + count] if scores.ndim > 2 else logs
        weights.gather(scores[b], table.places, weight_scores)
        log_partition[b], chart[b, 0], chart[b, 1] = _fill(
            table, weight_scores, ring, weight, power, value, exponent, workspace, powers
        )


@kernel
def ends(table: Table, items: Array, ring: Array | None, scores: Array, logs: Array) -> None:
    """Write the logs of the cells whose sum is the total, ``logs (batch, terms)``, less a constant for each item.

    Items without a structure, or whose total is a leaf, are left unchanged. ``items``, ``ring`` and ``scores`` are
    those of the module's docstring.
    """
    cells, count = table.maker.shape[0], table.places.shape[0]
    weight, power, weight_scores = np.empty(count), exponents_of(ring, count), np.empty(count)
    value, exponent = np.empty(cells), exponents_of(ring, cells)
    workspace, powers, all_logs = np.empty(table.longest), np.empty(table.longest, np.int64), np.empty(cells)
    for b in items:
        weights.gather(scores[b], table.places, weight_scores)
        _, kind, _ = _fill(table, weight_scores, ring, weight, power, value, exponent, workspace, powers)
        if kind != IMPOSSIBLE and table.maker[table.top] >= 0:
            row = table.rows[table.maker[table.top]]
            take_logs(value, exponent, all_logs)
            write(logs[b, : row[COUNT]], all_logs[row[LEFT] : row[LEFT] + row[COUNT]])


@inner
def cells_again(
    table: Table, weight_scores: Array, ring: Array | None, weight: Array, power: Array | None, row: Array,
    again: Array, exponent: Array | None, workspace: Array, powers: Array,
) -> Any:  # fmt: skip
    """Restore the weights of a possible item; return its cells, from the chart if it is plain, else recomputed.

    ``row (entries,)`` is its row of the chart. ``again (cells,)`` gets the recomputed cells; for plain numbers it
    has no entries. The other arrays are those of `strukt.kernels.engine.inside_outside`.
    """
    if ring is None:
        load(weight_scores, table.groups, table.times, table.degrees, table.progress, row[1], weight, power)
        return row[HEAD : HEAD + table.maker.shape[0]]
    _fill(table, weight_scores, ring, weight, power, again, exponent, workspace, powers)
    return again[:]


@kernel
def marginals(
    table: Table, items: Array, ring: Array | None, scores: Array, chart: Array, factors: Array, used: Array
) -> None:
    """Add the probability of each part, times the factor of its item, to ``used``.

    Arrays: ``factors (batch,)`` and ``used``, in the shape of ``scores``; ``items``, ``ring`` and ``chart`` are
    those of the module's docstring.
    """
    cells, count = table.maker.shape[0], table.places.shape[0]
    weight, power, exponent = np.empty(count), exponents_of(ring, count), exponents_of(ring, cells)
    again, mass, parts = np.empty(cells if ring is not None else 0), np.empty(cells), np.empty(count)
    workspace, powers, logs = np.empty(table.longest), np.empty(table.longest, np.int64), np.empty(count)
    for b in items:
        weight_scores = logs_of(table, scores[b], chart[b], logs)
        value = cells_again(
            table, weight_scores, ring, weight, power, chart[b], again, exponent, workspace, powers
        )
        if value[table.top] == 0.0:  # impossible, which not every chart records
            continue
        inside_outside.outside(
            table.rows, table.top, weight, power, value, exponent, workspace, powers, mass, parts
        )
        weights.spread(scores[b], table.places, factors[b], parts, used[b])


@kernel
def hessians(
    table: Table, items: Array, ring: Array | None, scores: Array, chart: Array, factors: Array,
    directions: Array, grads: Array, factor_grads: Array,
) -> None:  # fmt: skip
    """Compute the gradients of <factor x marginals, direction> with respect to scores and factors.

    Those of scores are added to ``grads``; those of factors are written to ``factor_grads``.

    Arrays: ``factors`` and ``factor_grads (batch,)``, ``directions`` and ``grads``, in the shape of ``scores``;
    ``items``, ``ring`` and ``chart`` are those of the module's docstring.
    """
    cells, count = table.maker.shape[0], table.places.shape[0]
    weight, power, exponent = np.empty(count), exponents_of(ring, count), exponents_of(ring, cells)
    again, mass, used = np.empty(cells if ring is not None else 0), np.empty(cells), np.empty(count)
    workspace, powers, logs = np.empty(table.longest), np.empty(table.longest, np.int64), np.empty(count)
    direction, grown, changes = np.empty(count), np.empty(cells), np.empty(cells)
    moves, parts = np.empty(table.longest), np.empty(count)
    rows, places = table.rows, table.places
    for b in items:
        weight_scores = logs_of(table, scores[b], chart[b], logs)
        value = cells_again(
            table, weight_scores, ring, weight, power, chart[b], again, exponent, workspace, powers
        )
        if value[table.top] == 0.0:  # impossible, which not every chart records
            continue
        weights.mean_directions(scores[b], places, weight_scores, directions[b], direction)
        inside_outside.outside(rows, table.top, weight, power, value, exponent, workspace, powers, mass, used)
        growth.growth(rows, weight, power, value, exponent, workspace, powers, direction, grown)
        growth.change(
            rows, weight, power, value, exponent, workspace, powers, mass, direction, grown, moves, changes, parts
        )
        factor_grads[b] = grown[table.top]
        weights.spread_change(scores[b], places, factors[b], used, parts, directions[b], 1.0, grads[b])


@kernel
def surprises(
    table: Table, items: Array, ring: Array | None, scores: Array, others: Array, factors: Array, kinds: Array,
    result: Array, grads: Array,
) -> None:  # fmt: skip
    """Write cross-entropies ``result (batch,)``: the expected surprise under ``others``; entropies without others.

    The gradients with respect to the scores, times the factors of the items, are added to the rows of ``grads``,
    if it has any. With plain numbers, items with numbers out of their range get the kind `EXTENDED`; they must be
    recomputed with extended numbers. The result is +inf if only the others have no structure, and left unchanged
    if the item has none.

    Arrays: ``others`` and ``grads``, in the shape of ``scores`` or without rows; ``factors (batch,)``, or without
    entries if there are no gradients; ``kinds (batch,)``, the ring of each item; ``items`` and ``ring`` are those
    of the module's docstring.
    """
    cells, count, same = table.maker.shape[0], table.places.shape[0], others.shape[0] == 0
    weight, power, exponent = np.empty(count), exponents_of(ring, count), exponents_of(ring, cells)
    value, mass, changes, expected = np.empty(cells), np.empty(cells), np.empty(cells), np.empty(cells)
    other_weight, other_power, other_value, other_exponent = weight, power, value, exponent
    if not same:
        other_weight, other_power = np.empty(count), exponents_of(ring, count)
        other_value, other_exponent = np.empty(cells), exponents_of(ring, cells)
    weight_scores, other_scores = np.empty(count), np.empty(count)
    inner_surprise, used = np.empty(count), np.empty(count)
    logs, weight_logs, parts = np.empty(cells), np.empty(count), np.empty(count)
    workspace, terms, powers = np.empty(table.longest), np.empty(table.longest), np.empty(table.longest, np.int64)
    rows, top, places = table.rows, table.top, table.places
    for b in items:
        theirs = scores[b] if same else others[b]
        weights.gather(scores[b], places, weight_scores)
        _, kinds[b], _ = _fill(table, weight_scores, ring, weight, power, value, exponent, workspace, powers)
        other = kinds[b]
        if not same:
            weights.gather(theirs, places, other_scores)
            _, other, _ = _fill(
                table, other_scores, ring, other_weight, other_power, other_value, other_exponent, workspace,
                powers,
            )  # fmt: skip
        if kinds[b] == IMPOSSIBLE:
            continue
        if ring is None and (kinds[b] == EXTENDED or other == EXTENDED):
            kinds[b] = EXTENDED
            continue
        if other == IMPOSSIBLE:
            result[b] = np.inf
            continue
        take_logs(other_value, other_exponent, logs)
        take_logs(other_weight, other_power, weight_logs)
        weights.surprises(scores[b], theirs, places, weight_scores, inner_surprise)
        entropy.surprise(
            rows, weight, power, value, exponent, other_weight, other_power, other_value, other_exponent, logs,
            weight_logs, workspace, powers, terms, same, inner_surprise, expected,
        )  # fmt: skip
        result[b] = expected[top]
        if ring is None and not LEAST_ENTROPY < result[b] < np.inf:  # +inf: forbidden, or underflow
            kinds[b] = EXTENDED
            continue
        if grads.shape[0] > 0:
            inside_outside.outside(rows, top, weight, power, value, exponent, workspace, powers, mass, used)
            entropy.surprise_change(
                rows, weight, power, value, exponent, other_weight, other_power, other_value, other_exponent,
                logs, weight_logs, workspace, powers, terms, same, inner_surprise, mass, expected, changes, parts,
            )  # fmt: skip
            weights.spread_change(scores[b], places, factors[b], used, parts, theirs, -1.0, grads[b])
