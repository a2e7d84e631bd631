"""Best structures, samples and the structures of SparseMAP of the items of a batch that share a table."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_search import Search, make_search, start, take
from strukt.kernels.engine import bounds, walk
from strukt.kernels.engine.items import cells_again, exponents_of
from strukt.kernels.engine.program import Array
from strukt.kernels.engine.tables import Table
from strukt.kernels.jit import inner, kernel
from strukt.kernels.sparsemap import active_set
from strukt.kernels.sparsemap.found import Found, Settings, Start, close_item, open_item
from strukt.kernels.sparsemap.state import ActiveSet, is_open, of_item


@inner
def _name(places: Array, used: Array, count: int, alternatives: int, event: Array) -> None:
    """Write the event of a structure: at each place the alternative that it uses."""
    for i in range(count):
        place = places[used[i]]
        event[place // alternatives] = place % alternatives


@kernel
def kbest(table: Table, items: Array, scores: Array, events: Array, found: Array) -> None:
    """The k best events ``(batch, k, places)`` and their scores ``(batch, k)``, -1 and -inf beyond the last."""
    k, alternatives = found.shape[1], scores.shape[1] // events.shape[2]
    own, value = np.empty(table.places.shape[0]), np.empty(table.maker.shape[0])
    used, stack = np.empty(table.used, np.int64), np.empty(table.waiting + 1, np.int64)
    room, search = np.empty(table.longest), make_search(k, max(table.choices, 1))
    for b in items:
        shift = bounds.load_scores(scores[b], table.places, table.groups, own)
        if shift == -np.inf:
            continue
        bounds.best(table.rows, table.leaves, own, value)
        score, given = value[table.top], -1
        start(search)
        rank = 0
        while score > -np.inf and rank < k:
            found[b, rank] = shift + score
            count = walk.follow(
                table.rows, table.maker, table.top, own, value, search, rank, given, score, stack, room, used
            )
            _name(table.places, used, count, alternatives, events[b, rank])
            rank += 1
            if rank < k:
                score, given = take(search, rank)


@kernel
def sample(
    table: Table, items: Array, ring: Array | None, scores: Array, chart: Array, seeds: Array, first: int,
    step: int, events: Array,
) -> None:  # fmt: skip
    """Events ``(batch, count, places)`` from seeds ``(batch, count)``: those from ``first`` on in steps."""
    alternatives = scores.shape[1] // events.shape[2]
    cells, weights = table.maker.shape[0], table.places.shape[0]
    weight, power, exponent = np.empty(weights), exponents_of(ring, weights), exponents_of(ring, cells)
    own, state = np.empty(cells if ring is not None else 0), np.empty(1, np.uint64)
    room, powers = np.empty(table.longest), np.empty(table.longest, np.int64)
    used, stack = np.empty(table.used, np.int64), np.empty(table.waiting + 1, np.int64)
    for b in items:
        value = cells_again(table, scores[b], ring, weight, power, chart[b], own, exponent, room, powers)
        for k in range(first, seeds.shape[1], step):
            state[0] = seeds[b, k]
            count = walk.draw(
                table.rows, table.maker, table.top, weight, power, value, exponent, state, stack, room, powers,
                used,
            )  # fmt: skip
            _name(table.places, used, count, alternatives, events[b, k])


@kernel
def max_marginals(table: Table, items: Array, scores: Array, found: Array) -> None:
    """For each main score the best score of a structure that uses it, ``found (batch, d)``; others are left."""
    cells, count = table.maker.shape[0], table.places.shape[0]
    own, parts, value, around = np.empty(count), np.empty(count), np.empty(cells), np.empty(cells)
    room, places = np.empty(table.longest), table.places
    for b in items:
        shift = bounds.load_scores(scores[b], table.places, table.groups, own)
        if shift == -np.inf:
            continue
        bounds.best(table.rows, table.leaves, own, value)
        bounds.bound(table.rows, table.top, own, value, room, around, parts)
        for i in range(count):
            found[b, places[i]] = max(found[b, places[i]], shift + parts[i])


@kernel
def sparsemap(
    table: Table, items: Array, scores: Array, begin: Start, settings: Settings, sets: ActiveSet, found: Found,
    thread: int,
) -> None:  # fmt: skip
    """The structures of SparseMAP; uses one active set of ``sets``."""
    d, places = scores.shape[1], table.places
    own, value = np.empty(table.places.shape[0]), np.empty(table.maker.shape[0])
    used, stack = np.empty(table.used, np.int64), np.empty(table.waiting + 1, np.int64)
    room, parts = np.empty(table.longest), np.empty(table.used, np.int32)
    search = make_search(1, max(table.choices, 1))
    for b in items:
        state = of_item(sets, thread, d)
        state.main[:] = 0.0
        _copy(places, scores[b], state.main)
        open_item(state, begin, b)
        while is_open(state):
            count = _best(table, state.query, own, value, search, stack, room, used)
            if count < 0:
                active_set.fail(state)
                break
            _sort_places(places, used, count, parts)
            active_set.advance(state, parts, count, 0.0, settings.max_calls, settings.tol)
        close_item(state, found, b)


@inner
def _copy(places: Array, scores: Array, main: Array) -> None:
    """The scores that have a weight; what else there is, padding, is never asked for."""
    for place in places:
        main[place] = scores[place]


@inner
def _sort_places(places: Array, used: Array, count: int, parts: Array) -> None:
    """The places of the weights that a structure uses, ascending, as the active set has them."""
    for i in range(count):
        place, j = places[used[i]], i
        while j > 0 and parts[j - 1] > place:
            parts[j] = parts[j - 1]
            j -= 1
        parts[j] = place


@inner
def _best(
    table: Table, scores: Array, own: Array, value: Array, search: Search, stack: Array, room: Array, used: Array
) -> int:
    """How many weights the best structure uses, in ``used``; -1 if there is none."""
    if bounds.load_scores(scores, table.places, table.groups, own) == -np.inf:
        return -1
    bounds.best(table.rows, table.leaves, own, value)
    score = value[table.top]
    if score == -np.inf:
        return -1
    start(search)
    return walk.follow(
        table.rows, table.maker, table.top, own, value, search, 0, -1, score, stack, room, used
    )
