"""The root of a projective tree, and the way from a full chart back to one tree."""

from __future__ import annotations

import numpy as np

from strukt.kernels.cpu_semiring import Array, choose, dot, one, push, weigh, zero
from strukt.kernels.jit import kernel

LEFT, RIGHT = 0, 1


@kernel
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


@kernel
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


@kernel
def trace(
    semiring: int, weights: Array, chart: Array, single_root: bool, uniform: Array, heads: Array
) -> None:
    """One tree, from the root downwards: the best one, or a sample with the given random numbers."""
    n = weights.shape[0]
    right, left, open_ = chart[0], chart[1], chart[2]
    totals, attached = attach_to_root(semiring, weights, chart, single_root)
    stack = np.empty((2 * n + 2, 3), np.int64)
    depth = 0
    drawn = 0
    end = n
    while end > 0:
        child = choose(semiring, attached, 0, right, end - 1, 0, end, 0, _draw(uniform, drawn))
        first = 0
        if not single_root:
            first = choose(semiring, totals, 0, left, child, 0, child + 1, 0, _draw(uniform, drawn + 1))
        drawn += 2
        heads[child] = 0
        depth = _add(stack, depth, RIGHT, child, end - 1)
        depth = _add(stack, depth, LEFT, first, child)
        end = first
    while depth > 0:
        depth -= 1
        kind, i, j = stack[depth]
        if kind == RIGHT:
            word = choose(semiring, open_, i, right, j, i + 1, j + 1, 0, _draw(uniform, drawn))
            head, low, high = i, i, word
            depth = _add(stack, depth, RIGHT, word, j)
        else:
            word = choose(semiring, left, i, open_, j, i, j, 0, _draw(uniform, drawn))
            head, low, high = j, word, j
            depth = _add(stack, depth, LEFT, i, word)
        heads[word] = head + 1
        split = choose(semiring, right, low, left, high, low, high, 1, _draw(uniform, drawn + 1))
        drawn += 2
        depth = _add(stack, depth, RIGHT, low, split)
        depth = _add(stack, depth, LEFT, split + 1, high)


@kernel
def _add(stack: Array, depth: int, kind: int, i: int, j: int) -> int:
    """Put a half-tree of more than one word on the stack."""
    if i == j:
        return depth
    stack[depth, 0] = kind
    stack[depth, 1] = i
    stack[depth, 2] = j
    return depth + 1


@kernel
def _draw(uniform: Array, index: int) -> float:
    return uniform[index] if index < uniform.shape[0] else 0.0
