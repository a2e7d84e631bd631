"""The root of a projective tree, and the steps from a full chart back to one tree."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_semiring import Array, dot, one, push, weigh, zero
from strukt.kernels.jit import inner, kernel

LEFT, RIGHT = 0, 1


@inner
def attach_to_root(semiring: int, weights: Array, chart: Array, single_root: bool) -> tuple[Array, Array]:
    """Totals ``(1, n + 1)`` of the trees of the first 0..n words, and ``(1, n)`` up to each child of the root."""
    n = weights.shape[0]
    right, left = chart[0], chart[1]
    totals = np.empty((1, n + 1))
    attached = np.empty((1, n))
    totals[0, 0] = one(semiring)
    for last in range(n):
        below = left[last, 0] if single_root else dot(semiring, totals, 0, left, last, 0, last + 1, 0)
        attached[0, last] = weigh(semiring, below, weights[last, 0])
        totals[0, last + 1] = dot(semiring, attached, 0, right, last, 0, last + 1, 0)
    return totals, attached


@inner
def root_outside(semiring: int, weights: Array, chart: Array, single_root: bool, mass: Array) -> Array:
    """The probability ``(1, n)`` that each word hangs on the root; -1 throughout if there is no tree.

    ``mass`` gets the probabilities of the half-trees below the root.
    """
    n = weights.shape[0]
    right, left = chart[0], chart[1]
    totals, attached = attach_to_root(semiring, weights, chart, single_root)
    attached_mass = np.zeros((1, n))
    if totals[0, n] == zero(semiring):
        attached_mass[:] = -1.0
        return attached_mass
    total_mass = np.zeros((1, n + 1))
    total_mass[0, n] = 1.0
    for last in range(n - 1, -1, -1):
        if last == n - 1 or not single_root:
            push(
                semiring, total_mass[0, last + 1], totals[0, last + 1],
                attached, 0, right, last, 0, last + 1, 0, attached_mass, mass[0],
            )  # fmt: skip
        below_mass = attached_mass[0, last]
        if single_root:
            mass[1, last, 0] += below_mass
        elif below_mass > 0.0:
            below = dot(semiring, totals, 0, left, last, 0, last + 1, 0)
            push(semiring, below_mass, below, totals, 0, left, last, 0, last + 1, 0, total_mass, mass[1])
    return attached_mass


@inner
def add_child_of_root(stack: Array, depth: int, first: int, child: int, last: int) -> int:
    """Put the half-trees of a child of the root, over the words from first to last, on the stack."""
    depth = _add(stack, depth, RIGHT, child, last)
    return _add(stack, depth, LEFT, first, child)


@inner
def arc_to(kind: int, i: int, j: int, word: int) -> tuple[int, int, int]:
    """The head of a half-tree, and the first and the last word under its arc to a word."""
    return (i, i, word) if kind == RIGHT else (j, word, j)


@inner
def add_parts(stack: Array, depth: int, kind: int, i: int, j: int, word: int, split: int) -> int:
    """Put the parts of a half-tree on the stack: beyond the word that hangs on its head, and under the arc."""
    _, low, high = arc_to(kind, i, j, word)
    depth = _add(stack, depth, kind, word, j) if kind == RIGHT else _add(stack, depth, kind, i, word)
    depth = _add(stack, depth, RIGHT, low, split)
    return _add(stack, depth, LEFT, split + 1, high)


@kernel
def _add(stack: Array, depth: int, kind: int, i: int, j: int) -> int:
    """Put a half-tree of more than one word on the stack."""
    if i == j:
        return depth
    stack[depth, 0] = kind
    stack[depth, 1] = i
    stack[depth, 2] = j
    return depth + 1
