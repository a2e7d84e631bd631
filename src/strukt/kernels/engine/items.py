"""Visits of the items of a batch that share a table: the compiled loops behind `strukt.kernels.engine.backend`.

Each takes the table, the numbers of the items, and the ring: None for plain numbers, an array for extended ones.
A row of a chart begins with the ring that the item is in (`IMPOSSIBLE`, `PLAIN` or `EXTENDED`); its cells follow
if it is plain, and those of extended items are computed again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from strukt.kernels.engine import growth, sums, surprise
from strukt.kernels.engine.program import Array
from strukt.kernels.engine.rings import SMALLEST, load, take_logs
from strukt.kernels.engine.tables import Table
from strukt.kernels.jit import inner, kernel

IMPOSSIBLE, PLAIN, EXTENDED = 0.0, 1.0, 2.0


@inner
def exponents_of(ring: Array | None, count: int) -> Any:
    """Room for exponents, None in plain numbers."""
    if ring is None:
        return None
    return np.empty(count, np.int64)


@inner
def _fill(
    table: Table, scores: Array, ring: Array | None, weight: Array, power: Array | None, value: Array,
    exponent: Array | None, room: Array, powers: Array,
) -> tuple[float, float]:  # fmt: skip
    """Fill weights and cells of an item; gives the log-partition and the ring that the item belongs to."""
    shift = load(scores, table.places, table.groups, weight, power)
    if shift == -np.inf:
        return shift, IMPOSSIBLE
    sums.inside(table.rows, table.leaves, weight, power, value, exponent, room, powers)
    if ring is None:
        kind = PLAIN if value[table.top] > SMALLEST else EXTENDED
    else:
        kind = EXTENDED if value[table.top] > 0.0 else IMPOSSIBLE
    return shift + sums.log_total(value, exponent, table.top), kind


@kernel
def totals(
    table: Table, items: Array, ring: Array | None, scores: Array, chart: Array, log_partition: Array
) -> None:
    """Log-partitions ``(batch,)`` and charts."""
    cells = table.maker.shape[0]
    weight, power = np.empty(table.places.shape[0]), exponents_of(ring, table.places.shape[0])
    exponent, own = exponents_of(ring, cells), np.empty(cells if ring is not None else 0)
    room, powers = np.empty(table.longest), np.empty(table.longest, np.int64)
    for b in items:
        value = chart[b, 1 : cells + 1] if ring is None else own
        log_partition[b], chart[b, 0] = _fill(
            table, scores[b], ring, weight, power, value, exponent, room, powers
        )


@inner
def cells_again(
    table: Table, scores: Array, ring: Array | None, weight: Array, power: Array | None, chart: Array, own: Array,
    exponent: Array | None, room: Array, powers: Array,
) -> Any:  # fmt: skip
    """The weights and cells of a possible item, from its chart where that has them."""
    if ring is None:
        load(scores, table.places, table.groups, weight, power)
        return chart[1 : table.maker.shape[0] + 1]
    _fill(table, scores, ring, weight, power, own, exponent, room, powers)
    return own[:]


@kernel
def marginals(
    table: Table, items: Array, ring: Array | None, scores: Array, chart: Array, factors: Array, used: Array
) -> None:
    """The probability of each part times the factor of its item: ``used (batch, d)``."""
    cells, count = table.maker.shape[0], table.places.shape[0]
    weight, power, exponent = np.empty(count), exponents_of(ring, count), exponents_of(ring, cells)
    own, mass, parts = np.empty(cells if ring is not None else 0), np.empty(cells), np.empty(count)
    room, powers = np.empty(table.longest), np.empty(table.longest, np.int64)
    for b in items:
        value = cells_again(table, scores[b], ring, weight, power, chart[b], own, exponent, room, powers)
        sums.outside(table.rows, table.top, weight, power, value, exponent, room, powers, mass, parts)
        _spread(table.places, factors[b], parts, used[b])


@inner
def _spread(places: Array, factor: float, parts: Array, used: Array) -> None:
    """Add what weights are used to the main scores that they come from.

    Loops take arrays and no tables: from a tuple an array is taken anew, and counted, each time.
    """
    for i in range(places.shape[0]):
        used[places[i]] += factor * parts[i]


@kernel
def hessians(
    table: Table, items: Array, ring: Array | None, scores: Array, chart: Array, factors: Array,
    directions: Array, grads: Array, factor_grads: Array,
) -> None:  # fmt: skip
    """Gradients of <factor x marginals, direction> in the scores ``(batch, d)`` and the factors ``(batch,)``."""
    cells, count = table.maker.shape[0], table.places.shape[0]
    weight, power, exponent = np.empty(count), exponents_of(ring, count), exponents_of(ring, cells)
    own, mass, parts = np.empty(cells if ring is not None else 0), np.empty(cells), np.empty(count)
    room, powers = np.empty(table.longest), np.empty(table.longest, np.int64)
    direction, grown, changes = np.empty(count), np.empty(cells), np.empty(cells)
    moves = np.empty(table.longest)
    rows, places = table.rows, table.places
    for b in items:
        value = cells_again(table, scores[b], ring, weight, power, chart[b], own, exponent, room, powers)
        for i in range(count):
            direction[i] = directions[b, places[i]] if weight[i] > 0.0 else 0.0
        sums.outside(rows, table.top, weight, power, value, exponent, room, powers, mass, parts)
        growth.growth(rows, weight, power, value, exponent, room, powers, direction, grown)
        growth.change(
            rows, weight, power, value, exponent, room, powers, mass, direction, grown, moves, changes, parts
        )
        factor_grads[b] = grown[table.top]
        _spread(table.places, factors[b], parts, grads[b])


@kernel
def surprises(
    table: Table, items: Array, ring: Array | None, scores: Array, others: Array, factors: Array, kinds: Array,
    found: Array, grads: Array,
) -> None:  # fmt: skip
    """Cross-entropies ``found (batch,)`` of others under the distributions of scores; entropies without others.

    Where ``grads`` has rows, they get the gradients in the scores ``(batch, d)`` times the factors of the items.
    Items whose numbers do not fit the ring get the kind `EXTENDED`, and nothing else.
    """
    cells, count, same = table.maker.shape[0], table.places.shape[0], others.shape[0] == 0
    weight, power, exponent = np.empty(count), exponents_of(ring, count), exponents_of(ring, cells)
    value, mass, changes, expected = np.empty(cells), np.empty(cells), np.empty(cells), np.empty(cells)
    other_weight, other_power, other_value, other_exponent = weight, power, value, exponent
    if not same:
        other_weight, other_power = np.empty(count), exponents_of(ring, count)
        other_value, other_exponent = np.empty(cells), exponents_of(ring, cells)
    logs, weight_logs, parts = np.empty(cells), np.empty(count), np.empty(count)
    room, terms, powers = np.empty(table.longest), np.empty(table.longest), np.empty(table.longest, np.int64)
    rows, top = table.rows, table.top
    for b in items:
        _, kinds[b] = _fill(table, scores[b], ring, weight, power, value, exponent, room, powers)
        other = kinds[b]
        if not same:
            _, other = _fill(
                table, others[b], ring, other_weight, other_power, other_value, other_exponent, room, powers
            )
        if kinds[b] == IMPOSSIBLE:
            continue
        if ring is None and (kinds[b] == EXTENDED or other == EXTENDED):
            kinds[b] = EXTENDED
            continue
        if other == IMPOSSIBLE:
            found[b] = np.inf
            continue
        take_logs(other_value, other_exponent, logs)
        take_logs(other_weight, other_power, weight_logs)
        surprise.surprise(
            rows, weight, power, value, exponent, other_weight, other_power, other_value, other_exponent, logs,
            weight_logs, room, powers, terms, same, expected,
        )  # fmt: skip
        found[b] = expected[top]
        if grads.shape[0] > 0:
            sums.outside(rows, top, weight, power, value, exponent, room, powers, mass, parts)
            surprise.surprise_change(
                rows, weight, power, value, exponent, other_weight, other_power, other_value, other_exponent,
                logs, weight_logs, room, powers, terms, same, mass, expected, changes, parts,
            )  # fmt: skip
            _spread(table.places, factors[b], parts, grads[b])
