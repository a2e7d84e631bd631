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

from strukt.kernels.cpu_draw import find, uniform
from strukt.kernels.jit import exp, inner, kernel
from strukt.kernels.matrix_tree.cpu_log import eliminate

Array = npt.NDArray[Any]

MOST_STEPS = 32
"""How many steps for each word the walks of a tree may take."""


@kernel
def draw(
    arcs: Array, lengths: Array, single_root: bool, roots: Array, feasible: Array, seeds: Array, chunks: int,
    heads: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Trees from seeds ``(batch, count)``; ``roots`` holds the probability that each word is the only root."""
    batch, count = seeds.shape
    state = np.empty(1, np.uint64)
    for unit in range(start, batch * chunks, step):
        b = unit // chunks
        n = lengths[b]
        if n == 0 or not feasible[b]:
            continue
        scores, sums = arcs[b, :n, : n + 1], np.empty((n, n + 1))
        for m in range(n):
            _head_weights(scores[m], m, single_root, sums[m])
            sums[m] = np.cumsum(sums[m])
        root = np.cumsum(roots[b, :n])
        for k in range(unit % chunks, count, chunks):
            state[0] = seeds[b, k]
            tree = heads[b, k, :n]
            first = find(root, 0, n, uniform(state)) if single_root else -1
            if not _walk(sums, first, state, tree):
                _escape(scores, single_root, first, state, tree)


@inner
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


@inner
def _walk(sums: Array, first: int, state: Array, heads: Array) -> bool:
    """Loop-erased random walks to the tree grown so far; whether they reached it in time."""
    n = heads.shape[0]
    in_tree = np.zeros(n + 1, np.bool_)
    in_tree[0] = True
    if first >= 0:
        heads[first] = 0
        in_tree[first + 1] = True
    steps = 0
    for begin in range(1, n + 1):
        node = begin
        while not in_tree[node]:
            if steps == MOST_STEPS * n:
                return False
            heads[node - 1] = find(sums[node - 1], 0, n + 1, uniform(state))
            steps += 1
            node = heads[node - 1]
        node = begin
        while not in_tree[node]:
            in_tree[node] = True
            node = heads[node - 1]
    return True


@inner
def _escape(arcs: Array, single_root: bool, first: int, state: Array, heads: Array) -> None:
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
        head = find(share, 0, n + 1, uniform(state))
        heads[m] = head
        joined = top[head]
        for h in range(n + 1):
            if top[h] == m + 1:
                top[h] = joined


@inner
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


@inner
def _log_add(a: float, b: float) -> float:
    top, low = max(a, b), min(a, b)
    return top if low == -np.inf else top + np.log(1.0 + np.exp(low - top))
