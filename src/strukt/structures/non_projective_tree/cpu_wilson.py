"""Exact samples of non-projective trees: Wilson's algorithm, or backward elimination if its walks take too long.

Wilson's algorithm (1996) takes as long as its random walk needs to reach the tree. That is very long if two words
strongly prefer each other. A walk that exceeds its budget is abandoned. The tree then grows word by word, while
the elimination of the words, computed once for the sentence, is undone in log space. Abandoning a walk changes no
probability, because the tree is independent of the length of the walk: the cycles popped on the way are
independent of the tree.

Eliminating word k adds the weight of the path from i through k to j to the weight of each arc from i to j. To undo
this, each arc of a tree over the words before k is replaced by itself or by the path through k, drawn in
proportion to their weights. The head of k is drawn from the nodes that still reach the root without k, by the
shares of k's heads. That draws every tree in proportion to its weight: if the arcs of some words lead through k,
these paths may end in any nodes that make a tree. By Cayley's formula with a weight for each node, the products of
the shares of such ends add up to the share of the possible heads of k, because the shares of all nodes add up to
1.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.cpu_sample import find, uniform
from strukt.kernels.elementary import exp
from strukt.kernels.jit import inner, kernel

MOST_STEPS = 32
"""The largest number of steps of the walks of a tree, per word."""

UNKNOWN = 2
"""The mark of a word that may or may not reach the root."""


@kernel
def draw(
    arcs: Array, lengths: Array, single_root: bool, roots: Array, feasible: Array, seeds: Array, chunks: int,
    heads: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Draw a tree, ``heads (batch, count, n)``, for each of ``seeds (batch, count)`` of ``feasible`` items.

    The walks of a tree take at most `MOST_STEPS` n steps. If that is not enough, the sentence takes O(n^3) once,
    and the tree O(n^2), plus O(n) for each arc that is replaced by a path.

    The other arrays are ``arcs (batch, n, n + 1)``, ``lengths`` and ``feasible (batch,)``, a mask of items with a
    tree, and ``roots (batch, n)``, the probability that each word is the only root, read only if there is a single
    root. Threads divide the samples of an item into ``chunks``.
    """
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
        place = _places(n, _likeliest(roots[b, :n]))
        weights = np.empty((0, n, n + 1))
        for k in range(unit % chunks, count, chunks):
            state[0] = seeds[b, k]
            tree = heads[b, k, :n]
            first = find(root, 0, n, uniform(state)) if single_root else -1
            if _walk(sums, first, state, tree):
                continue
            if len(weights) == 0:
                weights = _eliminated(scores, place, single_root)
            if single_root:
                _hang(weights, place[first + 1] - 1)
            _undo(weights, single_root, state, place, tree)


@inner
def _head_weights(scores: Array, m: int, single_root: bool, out: Array) -> None:
    """Write the weights of word m's heads relative to the largest, ``out (n + 1,)``; 0 for a single root."""
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
    """Draw a loop-erased random walk from each word to the tree grown so far; return True if all ended in time.

    ``sums (n, n + 1)`` holds the cumulative weights of each word's heads; ``first`` is the word that depends on a
    single root, -1 for any number of roots; the result is ``heads (n,)``.
    """
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
def _places(n: int, last: int) -> Array:
    """Return the position of each node, ``(n + 1,)``, in an order that begins with the root and the word ``last``.

    It is 0, 1, ... n, where nodes 1 and last + 1 change places; words count from 0.
    """
    place = np.arange(n + 1)
    place[1], place[last + 1] = last + 1, 1
    return place


@inner
def _eliminated(arcs: Array, place: Array, single_root: bool) -> Array:
    """Return the scores, permuted by ``place (n + 1,)``, and the factors of their elimination: ``(2, n, n + 1)``.

    Row k of the factors holds the log-shares of k's heads before it, column k + 1 the log-weights of k as head of
    the words before it. With a single root, the root is left out, so that all words must reach the first word; the
    entry of a word as its own head, which no tree uses, then holds its log-pivot.
    """
    n = arcs.shape[0]
    weights = np.empty((2, n, n + 1))
    for m in range(n):
        for h in range(n + 1):
            left_out = h == m + 1 or (h == 0 and single_root)
            score = -np.inf if left_out else np.float64(arcs[m, h])
            weights[:, place[m + 1] - 1, place[h]] = score
    shares = weights[1]
    _eliminate(shares)
    if single_root:
        shares[0, 1] = 0.0
        for k in range(1, n):
            best = _likeliest(shares[k, : k + 1])
            shares[k, k + 1] = _log_sum(_ways(weights, k, best)) - shares[k, best]
    return weights


@inner
def _eliminate(weights: Array) -> None:
    """Eliminate all words in place, in log space: row k becomes the log-shares of word k's heads before it."""
    for k in range(weights.shape[0] - 1, -1, -1):
        pivot = _log_sum(weights[k, : k + 1])
        if pivot == -np.inf:
            continue
        for j in range(k + 1):
            weights[k, j] -= pivot
        for i in range(k):
            into = weights[i, k + 1]
            for j in range(k + 1):
                path = into + weights[k, j]
                if path > -np.inf and j != i + 1:
                    top, low = max(weights[i, j], path), min(weights[i, j], path)
                    weights[i, j] = top + np.log(1.0 + np.exp(low - top)) if low > -np.inf else top


@inner
def _ways(weights: Array, i: int, j: int) -> Array:
    """Return the logs of the weights that add up to that of the arc from word i to its head j after eliminations.

    The first is the weight of the arc itself, the others are those of the paths through each word after both.
    """
    m, n = max(i, j - 1), weights.shape[1]
    ways = np.empty(n - m)
    ways[0] = weights[0, i, j]
    for k in range(m + 1, n):
        ways[k - m] = weights[1, i, k + 1] + weights[1, k, j]
    return ways


@inner
def _hang(weights: Array, first: int) -> None:
    """Add the root as a head of word ``first`` alone, with a weight so small that no other arc is affected.

    The shares of the root are relative to this weight.
    """
    for k in range(weights.shape[1] - 1, -1, -1):
        weights[0, k, 0] = 0.0 if k == first else -np.inf
        weights[1, k, 0] = _log_sum(_ways(weights, k, 0)) - weights[1, k, k + 1]


@inner
def _undo(weights: Array, single_root: bool, state: Array, place: Array, out: Array) -> None:
    """Undo the elimination: insert one word after another into the tree; write its heads to ``out (n,)``.

    ``weights`` are those of `_eliminated`, and ``place`` that of `_places`.
    """
    n = out.shape[0]
    heads, through = np.empty(n, np.int64), np.empty(n, np.int64)
    rooted, shares = np.empty(n + 1, np.int64), np.empty(n + 1)
    for k in range(n):
        words = _reach_root(heads, through, k, rooted)
        for node in range(k + 1):
            possible = rooted[node] == 1 and (node > 0 or words == 0 or not single_root)
            shares[node] = weights[1, k, node] if possible else -np.inf
        heads[k] = _draw_log(shares[: k + 1], state)
        through[k] = k + _draw_log(_ways(weights, k, heads[k]), state)
        for i in range(k):
            if through[i] == k:
                heads[i] = k + 1
                through[i] = k + _draw_log(_ways(weights, i, k + 1), state)
    for m in range(n):
        out[place[m + 1] - 1] = place[heads[m]]


@inner
def _reach_root(heads: Array, through: Array, k: int, rooted: Array) -> int:
    """Mark each node before word k: 1 if it reaches the root without k, else 0. Return the number of words with 1.

    ``heads`` are those of the tree over the words before k. ``through[i]`` is the word, k or later, through which
    the arc from word i to its head leads; an earlier word if the arc is direct. The marks are written to
    ``rooted``, of which entry 0 is for the root.
    """
    rooted[0] = 1
    for i in range(k):
        rooted[i + 1] = 0 if through[i] == k else UNKNOWN
    words = 0
    for begin in range(1, k + 1):
        node = begin
        while rooted[node] == UNKNOWN:
            node = heads[node - 1]
        known = rooted[node]
        node = begin
        while rooted[node] == UNKNOWN:
            rooted[node] = known
            node = heads[node - 1]
        words += known
    return words


@inner
def _draw_log(logs: Array, state: Array) -> int:
    """Draw an index in proportion to the exponentials of log-weights."""
    top = logs[_likeliest(logs)]
    sums, total = np.empty(logs.shape[0]), 0.0
    for k in range(logs.shape[0]):
        total += exp(logs[k] - top)
        sums[k] = total
    return find(sums, 0, logs.shape[0], uniform(state))


@inner
def _log_sum(logs: Array) -> float:
    """Return the log of the summed exponentials."""
    top = float(logs[_likeliest(logs)])
    if top == -np.inf:
        return -np.inf
    total = 0.0
    for k in range(logs.shape[0]):
        total += exp(logs[k] - top)
    return top + float(np.log(total))


@inner
def _likeliest(weights: Array) -> int:
    """Return the index of the first maximum."""
    best = 0
    for k in range(1, weights.shape[0]):
        if weights[k] > weights[best]:
            best = k
    return best
