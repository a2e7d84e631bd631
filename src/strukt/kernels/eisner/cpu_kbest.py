"""The k best projective trees: each but the best deviates from a better one at one place (Lawler 1972).

The places of a tree are where the walk from the root downwards chooses among the terms of a sum.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_search import Search, choice_of_term, start, take
from strukt.kernels.cpu_semiring import MAX, Array
from strukt.kernels.eisner import cpu_tree
from strukt.kernels.jit import inner


@inner
def find_trees(
    weights: Array, chart: Array, single_root: bool, best: float, search: Search, heads: Array, scores: Array
) -> None:
    """The heads and the scores of the k best trees, where there are so many; ``best`` is the best score."""
    totals, attached = cpu_tree.attach_to_root(MAX, weights, chart, single_root)
    scores[0] = best
    start(search)
    _complete(chart, totals, attached, single_root, search, 0, -1, best, heads[0])
    for rank in range(1, len(scores)):
        scores[rank], given = take(search, rank)
        if scores[rank] == -np.inf:
            return
        _complete(chart, totals, attached, single_root, search, rank, given, scores[rank], heads[rank])


@inner
def _complete(
    chart: Array, totals: Array, attached: Array, single_root: bool, search: Search, rank: int, given: int,
    score: float, heads: Array,
) -> None:  # fmt: skip
    """Follow the choices up to the place ``given``, make the best ones after it, and offer the others there."""
    right, left, open_ = chart[0], chart[1], chart[2]
    n = right.shape[0]
    stack = np.empty((2 * n + 2, 3), np.int64)
    depth, end, place = 0, n, 0
    while end > 0:
        child = choice_of_term(search, rank, place, given, score, attached, 0, right, end - 1, 0, end, 0)
        place, first = place + 1, 0
        if not single_root:
            first = choice_of_term(search, rank, place, given, score, totals, 0, left, child, 0, child + 1, 0)
            place += 1
        heads[child] = 0
        depth = cpu_tree.add_child_of_root(stack, depth, first, child, end - 1)
        end = first
    while depth > 0:
        depth -= 1
        kind, i, j = stack[depth]
        if kind == cpu_tree.RIGHT:
            word = choice_of_term(search, rank, place, given, score, open_, i, right, j, i + 1, j + 1, 0)
        else:
            word = choice_of_term(search, rank, place, given, score, left, i, open_, j, i, j, 0)
        head, low, high = cpu_tree.arc_to(kind, i, j, word)
        heads[word] = head + 1
        split = choice_of_term(search, rank, place + 1, given, score, right, low, left, high, low, high, 1)
        depth = cpu_tree.add_parts(stack, depth, kind, i, j, word, split)
        place += 2
