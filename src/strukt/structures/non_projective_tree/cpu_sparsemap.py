"""SparseMAP of trees: an active set over the best tree by contraction (Chu-Liu/Edmonds)."""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import kernel
from strukt.kernels.sparsemap import active_set
from strukt.kernels.sparsemap.arcs import load, name_arcs
from strukt.kernels.sparsemap.result import Result, Settings, Start, close_item, open_item
from strukt.kernels.sparsemap.state import ActiveSet, is_open, of_item
from strukt.structures.non_projective_tree.chu_liu_edmonds import best_tree, make_nodes


@kernel
def solve(
    arcs: Array, lengths: Array, single_root: bool, begin: Start, settings: Settings, sets: ActiveSet,
    result: Result, start: int, step: int,
) -> None:  # fmt: skip
    """Solve SparseMAP for each item of a batch.

    Arrays: ``arcs (batch, n, n + 1)`` in float64, and ``lengths (batch,)``; the others are those of
    `strukt.kernels.sparsemap.result.solve`.
    """
    batch, longest, heads_of_word = arcs.shape
    heads, parts = np.empty(longest, np.int64), np.empty(longest, np.int32)
    for b in range(start, batch, step):
        n = lengths[b]
        allowed, nodes = np.ones((n, n + 1), np.bool_), make_nodes(n)
        state = of_item(sets, start, longest * heads_of_word)
        load(arcs[b], n, state)
        open_item(state, begin, b)
        while is_open(state):
            query = state.query.reshape((longest, heads_of_word))[:n, : n + 1]
            if n > 0 and best_tree(query, allowed, single_root, nodes, heads[:n])[0] == -np.inf:
                active_set.fail(state)
                break
            name_arcs(heads[:n], heads_of_word, parts)
            active_set.advance(state, parts, n, 0.0, settings.max_calls, settings.tol)
        close_item(state, result, b)
