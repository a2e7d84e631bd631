"""SparseMAP of projective trees: the active set of an item asks Eisner's algorithm."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_search import make_search
from strukt.kernels.cpu_semiring import MAX, Array
from strukt.kernels.eisner import cpu_kbest
from strukt.kernels.eisner.cpu_inside import tree_total
from strukt.kernels.eisner.cpu_weights import load as load_weights
from strukt.kernels.jit import kernel, leading
from strukt.kernels.sparsemap import active_set
from strukt.kernels.sparsemap.arcs import load, name_arcs
from strukt.kernels.sparsemap.found import Found, Settings, Start, close_item, open_item
from strukt.kernels.sparsemap.state import ActiveSet, is_open, of_item


@kernel
def solve(
    arcs: Array, lengths: Array, single_root: bool, begin: Start, settings: Settings, sets: ActiveSet,
    found: Found, start: int, step: int,
) -> None:  # fmt: skip
    """Each item of a batch; scores in float64."""
    batch, longest, heads_of_word = arcs.shape
    room, search = np.empty((3, longest, longest)), make_search(1, 2 * longest)
    heads, score, parts = np.empty((1, longest), np.int64), np.empty(1), np.empty(longest, np.int32)
    for b in range(start, batch, step):
        n = lengths[b]
        spans, weights = leading(room, (3, n, n)), np.empty((n, n + 1))
        state = of_item(sets, start, longest * heads_of_word)
        load(arcs[b], n, state)
        open_item(state, begin, b)
        while is_open(state):
            query = state.query.reshape((1, longest, heads_of_word))[:, :n, : n + 1]
            if n > 0:
                best = tree_total(MAX, query, 0, single_root, 1.0, spans)
                if best == -np.inf:
                    active_set.fail(state)
                    break
                load_weights(MAX, query, 0, 1.0, weights)
                cpu_kbest.find_trees(weights, spans, single_root, best, search, heads[:, :n], score)
            name_arcs(heads[0, :n], heads_of_word, parts)
            active_set.advance(state, parts, n, 0.0, settings.max_calls, settings.tol)
        close_item(state, found, b)
