"""The algorithm of Eisner and Satta (1999) for lexicalised trees, as a table program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.kernels.engine.program import Program, ProgramBuilder


def build(n: int, spans: Sequence[int], arcs: Sequence[int]) -> Program:
    """Build the program of lexicalised trees over n words, counted from 0.

    Its inputs are ``span[i, j, h]``, the weight of the span of words i to j - 1 with head h, and ``arc[h, m]``,
    that of the arc from h to m; h = n is the root. Cell ``tree[i, j, h]`` is the total of all trees of a span with
    head h; ``by_end[i, h, j]`` and ``by_start[j, h, i]`` hold the same, in other orders, so that runs are
    consecutive. ``behind[h, j, i]`` and ``before[h, i, j]`` are the totals of all trees of the span from i to j
    with the arc from a word h to their head, where h is before the span, and after it. ``halves[i, j, h, 0]`` is
    the total, without the weight of the span itself, of the trees whose head is that of the first child,
    ``[..., 1]`` of those whose head is that of the second. Time O(n^4).

    Args:
        n: The number of words.
        spans: ``(size + 1, size + 1, size)``, the shape of the scores of spans, which come first in the flat array
            of an item's scores.
        arcs: ``(size, size + 1)``, the shape of the scores of arcs, which follow.

    Source: Eisner and Satta 1999.
    """
    p = ProgramBuilder()
    size, word, post = spans[2], np.arange(n), np.arange(n + 1)
    i, j, h = np.ix_(post, post, word)
    span = p.scattered(np.where((i <= h) & (h < j), (i * (size + 1) + j) * size + h, -1), times=2 * n - 1)
    h, m = np.ix_(post, word)
    first = int(np.prod(spans)) + m * (size + 1)
    arc = p.scattered(np.where(h == n, first, np.where(h == m, -1, first + h + 1)), times=n)

    tree = p.cells(n + 1, n + 1, n)
    by_end, by_start, behind, before = (p.cells(n + 1, n + 1, n + 1) for _ in range(4))
    halves, one, total = p.cells(n + 1, n + 1, n, 2), p.cells(), p.cells(n + 1)
    p.leaf(one)
    p.sum(
        by_end[word, word, word + 1], one, weight=span[word, word + 1, word],
        mirror=by_start[word + 1, word, word], stage=4,
    )  # fmt: skip
    i, j, h = (axis.ravel() for axis in np.meshgrid(post, post, word, indexing="ij"))
    wide = (i <= h) & (h < j) & (j - i > 1)
    i, j, h = i[wide], j[wide], h[wide]
    width = j - i
    left, right = h + 1 < j, i < h
    p.sum(
        halves[i, j, h, 0][left], by_end[i, h, h + 1][left], behind[h, j, h + 1][left], count=(j - h - 1)[left],
        stage=4 * width[left],
    )  # fmt: skip
    p.sum(
        halves[i, j, h, 1][right], before[h, i, i + 1][right], by_start[j, h, i + 1][right],
        count=(h - i)[right], stage=4 * width[right],
    )  # fmt: skip
    p.sum(
        by_end[i, h, j], halves[i, j, h, 0], count=2, weight=span[i, j, h], mirror=by_start[j, h, i],
        stage=4 * width + 1,
    )  # fmt: skip
    i, j, h = (axis.ravel() for axis in np.meshgrid(post, post, word, indexing="ij"))
    inside, outside = (i <= h) & (h < j), (i < j) & ((h < i) | (h >= j))
    p.sum(tree[i, j, h][inside], by_end[i, h, j][inside], stage=4 * (j - i)[inside] + 2)
    i, j, h = i[outside], j[outside], h[outside]
    p.sum(
        np.where(h < i, behind[h, j, i], before[h, i, j]), tree[i, j, i], count=j - i, each=arc[h, i],
        stage=4 * (j - i) + 3,
    )  # fmt: skip
    end = post[1:]
    p.sum(total[end], tree[0, end, 0], count=end, each=arc[n, 0], stage=4 * end + 3)
    return p.build(total[1:])


def cells(spans: Sequence[int], _arcs: Sequence[int]) -> int:
    """Return the number of cells of the program that `build` returns."""
    n = spans[2]
    return (n + 1) * (n + 1) * (3 * n + 4 * (n + 1)) + n + 4
