"""SparseMAP over listed structures, by non-negative least squares, without the library."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

Array = npt.NDArray[np.float64]


def every_tree(n: int) -> list[tuple[int, ...]]:
    """Heads of all trees over n words with exactly one root."""
    return [
        heads
        for heads in itertools.product(range(n + 1), repeat=n)
        if heads.count(0) == 1 and all(_reaches_root(heads, word) for word in range(1, n + 1))
    ]


def _reaches_root(heads: tuple[int, ...], word: int) -> bool:
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def arcs_of(heads: tuple[int, ...]) -> Array:
    """The column of A of a tree, ``(n, n + 1)``: 1 where a word (row) has a head (column)."""
    arcs = np.zeros((len(heads), len(heads) + 1))
    for word, head in enumerate(heads):
        arcs[word, head] = 1.0
    return arcs


STRICT = 1e4
"""Weight of the rows of a least-squares problem that must hold."""


def sparsemap(structures: Array, eta: Array, bounded: Array | None = None, bound: float = 0.0) -> Array:
    """The p of argmax over the simplex of (Ap)'eta - 1/2 |Ap|^2, with every row of ``bounded`` Ap at most a bound.

    This is the point of a polytope nearest to eta. For q >= 0, |Bq|^2 + (1'q - 1)^2 with the columns of A less eta
    in B is least where q is a multiple of p (Lawson and Hanson 1974, chapter 23).

    Args:
        structures: A', a row for each structure.
        eta: Scores of parts.
        bounded: Rows of further constraints on Ap, as overlapping factors put them.
        bound: Of all of them.
    """
    count = len(structures)
    rows, target = [(structures - eta).T, np.ones((1, count))], [np.zeros(len(eta)), np.ones(1)]
    if bounded is not None:
        slack = np.eye(len(bounded))
        rows = [np.hstack([row, np.zeros((len(row), len(bounded)))]) for row in rows]
        rows.append(STRICT * np.hstack([bounded @ structures.T - bound, slack]))
        target.append(np.zeros(len(bounded)))
    found, _ = nnls(np.vstack(rows), np.concatenate(target))
    return np.asarray(found[:count] / found[:count].sum())
