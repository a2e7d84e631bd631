"""Eisner's algorithm over half-trees, as a table program."""

from __future__ import annotations

import numpy as np

from strukt.kernels.engine.program import Program, ProgramBuilder


def build(n: int, single_root: bool) -> Program:
    """Build the program of projective trees over n words.

    Its inputs are ``arc[m, h]``, the weight of head h for word m, where h = 0 is the root and h = k + 1 is word k.
    Words are counted from 0. Cells are totals over the words i to j: ``right[i, j]`` of half-trees headed by i,
    ``left[j, i]`` of those headed by j, ``joined[i, j]`` of a right half-tree headed by i beside a left half-tree
    headed by j, and ``open_[h, m]`` of these with the arc from h to m, where {h, m} = {i, j}. Half-trees are
    stored twice, as ``[i, j]`` and ``[j, i]``, so that runs are consecutive either way. Time O(n^3); 4 n^2 + O(n)
    cells.

    Source: Eisner 1996.
    """
    p = ProgramBuilder()
    arc = p.weights(np.arange(n + 1) != np.arange(1, n + 1)[:, None])
    right, left, open_, joined = p.cells(n, n), p.cells(n, n), p.cells(n, n), p.cells(n, n)
    word = np.arange(n)
    p.leaf(right[word, word], left[word, word])
    i, j = np.triu_indices(n, 1)
    width = j - i
    p.sum(joined[i, j], right[i, i], left[j, i + 1], count=width, stage=3 * width)
    p.sum(open_[i, j], joined[i, j], weight=arc[j, i + 1], stage=3 * width + 1)
    p.sum(open_[j, i], joined[i, j], weight=arc[i, j + 1], stage=3 * width + 1)
    p.sum(right[i, j], open_[i, i + 1], right[j, i + 1], count=width, mirror=right[j, i], stage=3 * width + 2)
    p.sum(left[i, j], left[i, i], open_[j, i], count=width, mirror=left[j, i], stage=3 * width + 2)
    if single_root:
        rooted = p.cells(n)
        p.sum(rooted, left[word, 0], weight=arc[word, 0], stage=3 * n)
        return p.build(rooted[0], right[word, 0], count=word + 1)
    # The root is a word before all others; `trees[k]` is its right half-tree that ends after k words.
    trees, below, attached = p.cells(n + 1), p.cells(n), p.cells(n)
    p.leaf(trees[0])
    p.sum(below, trees[0], left[word, 0], count=word + 1, stage=3 * (n + word))
    p.sum(attached, below, weight=arc[word, 0], stage=3 * (n + word) + 1)
    p.sum(trees[1:], attached[0], right[word, 0], count=word + 1, stage=3 * (n + word) + 2)
    return p.build(trees[1:])


def cells(n: int, _heads: int, single_root: bool) -> int:
    """Return the number of cells of the program that `build` returns, or slightly more."""
    return 4 * n * n + 3 * n + 1
