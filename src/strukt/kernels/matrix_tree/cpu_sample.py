"""Exact samples of non-projective trees: Wilson's walks, and escape probabilities where walks would not end.

Wilson's algorithm (1996) takes as long as its random walk needs to reach the tree, which is very long between
two words that strongly want each other. A walk that runs out of random numbers is given up, and the tree is
drawn one head after another: word m takes head h with probability proportional to the weight of the arc and
to the probability that a walk from h reaches the root before m, read off one elimination with m kept to the
last, in log space. Giving up changes no probability, because the tree does not depend on the length of the
walk: the cycles popped on the way are independent of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import exp, kernel
from strukt.kernels.matrix_tree.cpu_log import eliminate

Array = npt.NDArray[Any]


def numbers_needed(n: int) -> int:
    """Random numbers for one tree: n for the way without walks, one for the root, the rest for the walks.

    The first n are kept apart, because those of a walk that was given up are no longer uniform.
    """
    return 17 * n + 65


@kernel
def draw(
    arcs: Array, lengths: Array, single_root: bool, roots: Array, feasible: Array, uniform: Array, heads: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """All samples of an item; ``roots`` holds the probability that each word is the only root."""
    for b in range(start, arcs.shape[0], step):
        n = lengths[b]
        if n == 0 or not feasible[b]:
            continue
        cumulative = np.empty((n, n + 1))
        for m in range(n):
            _head_weights(arcs[b, m, : n + 1], m, single_root, cumulative[m])
            cumulative[m] = np.cumsum(cumulative[m])
        root = np.cumsum(roots[b, :n])
        for k in range(uniform.shape[1]):
            numbers, tree = uniform[b, k], heads[b, k, :n]
            first = _pick(root, numbers[n]) if single_root else -1
            if not _walk(cumulative, first, numbers[n + 1 :], tree):
                _escape(arcs[b, :n, : n + 1], single_root, first, numbers[:n], tree)


@kernel
def _head_weights(scores: Array, m: int, single_root: bool, out: Array) -> None:
    """Weights of word m's heads, the best 1; the root is left out where it is chosen first."""
    top = -np.inf
    for h in range(1 if single_root else 0, scores.shape[0]):
        if h != m + 1:
            top = max(top, np.float64(scores[h]))
    out[:] = 0.0
    if top > -np.inf:
        for h in range(1 if single_root else 0, scores.shape[0]):
            if h != m + 1:
                out[h] = exp(scores[h] - top)


@kernel
def _pick(cumulative: Array, uniform: float) -> int:
    """The first index whose cumulative weight exceeds the share ``uniform`` of the whole."""
    low, high = 0, cumulative.shape[0] - 1
    target = uniform * cumulative[high]
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _walk(cumulative: Array, first: int, uniform: Array, heads: Array) -> bool:
    """Loop-erased random walks to the tree grown so far; whether the random numbers sufficed."""
    n = heads.shape[0]
    in_tree = np.zeros(n + 1, np.bool_)
    in_tree[0] = True
    if first >= 0:
        heads[first] = 0
        in_tree[first + 1] = True
    used = 0
    for begin in range(1, n + 1):
        node = begin
        while not in_tree[node]:
            if used == uniform.shape[0]:
                return False
            heads[node - 1] = _pick(cumulative[node - 1], uniform[used])
            used += 1
            node = heads[node - 1]
        node = begin
        while not in_tree[node]:
            in_tree[node] = True
            node = heads[node - 1]
    return True


@kernel
def _escape(arcs: Array, single_root: bool, first: int, uniform: Array, heads: Array) -> None:
    """One head after another, O(n^4) in all.

    Words whose heads are drawn belong to the tree of their topmost word, ``top``; 0 is the tree of the root.
    """
    n = heads.shape[0]
    scores = np.full((n, n + 1), -np.inf)
    for m in range(n):
        for h in range(1 if single_root else 0, n + 1):
            if h != m + 1:
                scores[m, h] = arcs[m, h]
    top = np.arange(n + 1)
    if first >= 0:
        heads[first] = 0
        top[first + 1] = 0
    for m in range(n):
        if m == first:
            continue
        escape = _escape_probabilities(scores, top, m)
        best = -np.inf
        for h in range(n + 1):
            best = max(best, scores[m, h] + escape[top[h]])
        share = np.empty(n + 1)
        total = 0.0
        for h in range(n + 1):
            total += exp(scores[m, h] + escape[top[h]] - best)
            share[h] = total
        head = _pick(share, uniform[m])
        heads[m] = head
        joined = top[head]
        for h in range(n + 1):
            if top[h] == m + 1:
                top[h] = joined


@kernel
def _escape_probabilities(scores: Array, top: Array, m: int) -> Array:
    """For each topmost word the log-probability that a walk from it reaches the root before word m."""
    n = scores.shape[0]
    alive = np.empty(n, np.int64)
    alive[0] = m
    place = np.full(n + 1, -1, np.int64)
    place[0], place[m + 1] = 0, 1
    count = 1
    for word in range(n):
        if top[word + 1] == word + 1 and word != m:
            alive[count] = word
            place[word + 1] = count + 1
            count += 1
    graph = np.full((count, count + 1), -np.inf)
    for a in range(count):
        for h in range(n + 1):
            column = place[top[h]]
            if column != a + 1:
                graph[a, column] = _log_add(graph[a, column], scores[alive[a], h])
    eliminate(graph)
    escape = np.full(n + 1, -np.inf)
    escape[0] = 0.0
    for k in range(1, count):
        reach = graph[k, 0]
        for j in range(1, k):
            reach = _log_add(reach, graph[k, j + 1] + escape[alive[j] + 1])
        escape[alive[k] + 1] = reach
    return escape


@kernel
def _log_add(a: float, b: float) -> float:
    top, low = max(a, b), min(a, b)
    return top if low == -np.inf else top + np.log(1.0 + np.exp(low - top))
