"""Best structures, samples and SparseMAP for the items of a batch that share a table."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_kbest import Search, make_search, start, take
from strukt.kernels.cpu_sample import make_kept
from strukt.kernels.engine import choices, max_inside_outside, max_inside_outside_gradient, walk, weights
from strukt.kernels.engine.items import cells_again, exponents_of, logs_of
from strukt.kernels.engine.tables import Table
from strukt.kernels.jit import inner, kernel, write
from strukt.kernels.sparsemap import active_set
from strukt.kernels.sparsemap.result import Result, Settings, Start, close_item, open_item
from strukt.kernels.sparsemap.state import ActiveSet, is_open, of_item


@inner
def _load(table: Table, scores: Array, weight_scores: Array) -> float:
    """Write the best scores of an item's weights to ``weight_scores``, levelled by `max_inside_outside.level`.

    Return the total that this subtracts from the score of every structure; -inf if a group of weights that all
    structures use has no possible one.
    """
    weights.gather_best(scores, table.places, weight_scores)
    return max_inside_outside.level(weight_scores, table.groups, table.times)


@kernel
def kbest(
    table: Table, items: Array, scores: Array, alternatives: int, kinds: int, events: Array,
    value_codes: Array, best_scores: Array,
) -> None:  # fmt: skip
    """Write the k best structures of each item and their scores, ``best_scores (batch, k)``.

    Structures are written to ``events`` and ``value_codes (batch, k, positions)`` by `choices.write_event`, which
    also takes ``alternatives`` and ``kinds``. If an item has fewer structures, the other entries are left
    unchanged, as are positions without a weight: the caller fills structures with -1 and scores with -inf.
    ``items`` and ``scores`` are those of `strukt.kernels.engine.items`.
    """
    k, chosen = best_scores.shape[1], table.used * choices.features_of(scores)
    weight_scores, value = np.empty(table.places.shape[0]), np.empty(table.maker.shape[0])
    used, codes = np.empty(table.used, np.int64), np.zeros(table.used, np.int64)
    stack, values = np.empty(table.waiting + 1, np.int64), np.empty(scores.shape[-1])
    workspace, search = np.empty(table.longest), make_search(k, max(table.choices + chosen, 1))
    for b in items:
        shift = _load(table, scores[b], weight_scores)
        if shift == -np.inf:
            continue
        max_inside_outside.best(table.rows, table.leaves, weight_scores, value)
        start(search, value[table.top])
        for rank in range(k):
            score, deviation = take(search, rank)
            if score == -np.inf:
                break
            best_scores[b, rank] = shift + score
            count, place = walk.follow(
                table.rows, table.maker, table.top, weight_scores, value, search, rank, deviation, score, stack,
                workspace, used,
            )  # fmt: skip
            if scores.ndim > 2:
                choices.choose_values(
                    scores[b], table.places, used, count, search, rank, place, deviation, score, values, codes
                )
            choices.write_event(
                table.places, used, count, alternatives, kinds, codes, events[b, rank], value_codes[b, rank]
            )


@kernel
def sample(
    table: Table, items: Array, ring: Array | None, scores: Array, chart: Array, seeds: Array, first: int,
    step: int, alternatives: int, kinds: int, events: Array, value_codes: Array,
) -> None:  # fmt: skip
    """Draw one structure for each of the seeds ``(batch, count)`` in columns first, first + step, and so on.

    Structures are written to ``events`` and ``value_codes (batch, count, positions)``, as by `kbest`. ``items``,
    ``ring``, ``scores`` and ``chart`` are those of `strukt.kernels.engine.items`; the items must have structures.
    """
    cells, size = table.maker.shape[0], table.places.shape[0]
    weight, power, exponent = np.empty(size), exponents_of(ring, size), exponents_of(ring, cells)
    again, state = np.empty(cells if ring is not None else 0), np.empty(1, np.uint64)
    workspace, powers, logs = np.empty(table.longest), np.empty(table.longest, np.int64), np.empty(size)
    used, codes = np.empty(table.used, np.int64), np.zeros(table.used, np.int64)
    stack = np.empty(table.waiting + 1, np.int64)
    kept = make_kept(table.rows.shape[0], seeds.shape[1] // step * table.choices, table.longest)
    at_once = seeds.shape[1] // step * table.used >= size
    for b in items:
        weight_scores = logs_of(table, scores[b], chart[b], logs)
        value = cells_again(
            table, weight_scores, ring, weight, power, chart[b], again, exponent, workspace, powers
        )
        sums = choices.shares_at_once(scores[b], table.places, at_once)
        kept.rows[:], kept.used[0] = 0, 0
        for k in range(first, seeds.shape[1], step):
            state[0] = seeds[b, k]
            count = walk.draw(
                table.rows, table.maker, table.top, weight, power, value, exponent, state, stack, kept, powers,
                used,
            )  # fmt: skip
            choices.draw(scores[b], table.places, used[:count], sums, state, codes)
            choices.write_event(
                table.places, used, count, alternatives, kinds, codes, events[b, k], value_codes[b, k]
            )


@kernel
def max_marginals(table: Table, items: Array, scores: Array, result: Array) -> None:
    """Write, for each entry of ``scores``, the best score of a structure that uses it, in the same shape.

    Entries that no structure uses are left unchanged: the caller fills ``result`` with -inf. ``items`` and
    ``scores`` are those of `strukt.kernels.engine.items`.
    """
    cells, count = table.maker.shape[0], table.places.shape[0]
    weight_scores, parts, value, around = np.empty(count), np.empty(count), np.empty(cells), np.empty(cells)
    workspace = np.empty(table.longest)
    for b in items:
        shift = _load(table, scores[b], weight_scores)
        if shift == -np.inf:
            continue
        max_inside_outside.best(table.rows, table.leaves, weight_scores, value)
        max_inside_outside.bound(
            table.rows, table.top, weight_scores, value, workspace, around, parts, None, None
        )
        choices.raise_values(scores[b], table.places, shift, parts, result[b])


@kernel
def max_marginals_gradient(
    table: Table, items: Array, scores: Array, factors: Array, grads: Array
) -> None:
    """Add to ``grads`` the parts of the structures that attain `max_marginals`, times their ``factors``.

    All arrays but ``items (count,)`` have the shape of the scores of the batch. ``factors`` is overwritten.
    """
    cells, count = table.maker.shape[0], table.places.shape[0]
    weight_scores, value, within = np.empty(count), np.empty(cells), np.empty(cells)
    around, parts = max_inside_outside_gradient.make_bounds(cells), max_inside_outside_gradient.make_bounds(count)
    workspace, of_places = np.empty((2, table.longest)), np.empty(scores.shape[1])
    for b in items:
        if _load(table, scores[b], weight_scores) == -np.inf:
            continue
        max_inside_outside.best(table.rows, table.leaves, weight_scores, value)
        max_inside_outside.bound(
            table.rows, table.top, weight_scores, value, workspace[0], around.scores, parts.scores, around.origins,
            parts.origins,
        )  # fmt: skip
        max_inside_outside_gradient.take_factors(scores[b], table.places, factors[b], of_places, parts, grads[b])
        max_inside_outside_gradient.pull(
            table.rows, table.top, weight_scores, value, workspace, around, parts, within
        )
        max_inside_outside_gradient.spread_best(scores[b], table.places, parts.pulls, grads[b])


@kernel
def sparsemap(
    table: Table, items: Array, scores: Array, places: int, begin: Start, settings: Settings, sets: ActiveSet,
    result: Result, thread: int,
) -> None:  # fmt: skip
    """Run SparseMAP with the best structure as its oracle; write its structures and weights to ``result``.

    If weights are sums over values, they have one feature. The first ``places`` of an item are main scores; others
    contribute to the scores of structures only. ``thread`` is the index of the active set in ``sets`` to use.
    ``items`` and ``scores`` are those of `strukt.kernels.engine.items`.
    """
    weight_scores, value = np.empty(table.places.shape[0]), np.empty(table.maker.shape[0])
    used, stack = np.empty(table.used, np.int64), np.empty(table.waiting + 1, np.int64)
    workspace, parts = np.empty(table.longest), np.empty(table.used, np.int32)
    search, asked = make_search(1, max(table.choices, 1)), np.empty(scores.shape[1:])
    for b in items:
        state = of_item(sets, thread, asked[:places].size)
        main, query = choices.as_scores(state.main, asked), choices.as_scores(state.query, asked)
        main[:] = 0.0
        _copy(table.places, scores[b], main)
        write(asked[places:], scores[b, places:])
        open_item(state, begin, b)
        while is_open(state):
            write(asked[:places], query)
            count = _best(table, asked, weight_scores, value, search, stack, workspace, used)
            if count < 0:
                active_set.fail(state)
                break
            count, extra = _sort_parts(table.places, used, count, asked, places, parts)
            active_set.advance(state, parts, count, extra, settings.max_calls, settings.tol)
        close_item(state, result, b)


@inner
def _copy(places: Array, scores: Array, main: Array) -> None:
    """Copy the scores that have a weight to ``main``, if they are main scores. The rest is padding, never used."""
    for place in places:
        if place < main.shape[0]:
            main[place] = scores[place]


@inner
def _sort_parts(
    places: Array, used: Array, count: int, scores: Array, main: int, parts: Array
) -> tuple[int, float]:
    """Write the main parts of the best structure to ``parts``, in ascending order, as the active set needs them.

    The structure uses the first ``count`` weights in ``used``; places below ``main`` are those of main scores.
    Return the number of main parts, and the sum of the other scores of the structure.
    """
    result, extra = 0, 0.0
    for i in range(count):
        place = places[used[i]]
        if place >= main:
            extra += weights.top_of(scores, place)
            continue
        part, j = choices.best_part(scores, place), result
        while j > 0 and parts[j - 1] > part:
            parts[j] = parts[j - 1]
            j -= 1
        parts[j] = part
        result += 1
    return result, extra


@inner
def _best(
    table: Table, scores: Array, weight_scores: Array, value: Array, search: Search, stack: Array,
    workspace: Array, used: Array,
) -> int:  # fmt: skip
    """Write the weights of the best structure to ``used``; return their number, -1 if there is none."""
    if _load(table, scores, weight_scores) == -np.inf:
        return -1
    max_inside_outside.best(table.rows, table.leaves, weight_scores, value)
    score = value[table.top]
    if score == -np.inf:
        return -1
    count, _ = walk.follow(
        table.rows, table.maker, table.top, weight_scores, value, search, 0, -1, score, stack, workspace, used
    )
    return count
