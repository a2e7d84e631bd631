"""The root of a projective tree, and the way from a full chart back to one tree."""

from __future__ import annotations

import numpy as np

from strukt.kernels.eisner.cpu_semiring import Array, choose, dot, one, push, weigh, zero
from strukt.kernels.jit import kernel

LEFT, RIGHT = 0, 1


@kernel
def attach_to_root(
    semiring: int, root: Array, chart: Array, single_root: bool, totals: Array, attached: Array
) -> None:
    """Totals over the trees of the first 0..n words, and over those cut off at each child of the root."""
    right, left = chart[0], chart[1]
    totals[0] = one(semiring)
    for last in range(root.shape[0]):
        if single_root:
            below = left[last, 0]
        else:
            below = dot(semiring, totals[: last + 1], left[last, : last + 1])
        attached[last] = weigh(semiring, below, root[last])
        totals[last + 1] = dot(semiring, attached[: last + 1], right[last, : last + 1])


@kernel
def root_outside(semiring: int, root: Array, chart: Array, single_root: bool, mass: Array) -> Array:
    """The probability that each word hangs on the root; -1 throughout if there is no tree.

    ``mass`` gets the probabilities of the half-trees below the root.
    """
    n = root.shape[0]
    right, left = chart[0], chart[1]
    totals = np.empty(n + 1)
    attached = np.empty(n)
    attach_to_root(semiring, root, chart, single_root, totals, attached)
    attached_mass = np.zeros(n)
    if totals[n] == zero(semiring):
        attached_mass[:] = -1.0
        return attached_mass
    total_mass = np.zeros(n + 1)
    total_mass[n] = 1.0
    for last in range(n - 1, -1, -1):
        upto = slice(0, last + 1)
        if last == n - 1 or not single_root:
            push(
                semiring, total_mass[last + 1], totals[last + 1],
                attached[upto], right[last, upto], attached_mass[upto], mass[0, last, upto],
            )  # fmt: skip
        if single_root:
            mass[1, last, 0] += attached_mass[last]
        elif attached_mass[last] > 0.0:
            below = dot(semiring, totals[upto], left[last, upto])
            push(
                semiring, attached_mass[last], below,
                totals[upto], left[last, upto], total_mass[upto], mass[1, last, upto],
            )  # fmt: skip
    return attached_mass


@kernel
def trace(semiring: int, root: Array, chart: Array, single_root: bool, uniform: Array, heads: Array) -> None:
    """One tree, from the root downwards: the best one, or a sample with the given random numbers."""
    n = root.shape[0]
    right, left, open_ = chart[0], chart[1], chart[2]
    totals = np.empty(n + 1)
    attached = np.empty(n)
    attach_to_root(semiring, root, chart, single_root, totals, attached)
    stack = np.empty((2 * n + 2, 3), np.int64)
    depth = 0
    drawn = 0
    end = n
    while end > 0:
        child = choose(semiring, attached[:end], right[end - 1, :end], _draw(uniform, drawn))
        first = 0
        if not single_root:
            first = choose(semiring, totals[: child + 1], left[child, : child + 1], _draw(uniform, drawn + 1))
        drawn += 2
        heads[child] = 0
        depth = _add(stack, depth, RIGHT, child, end - 1)
        depth = _add(stack, depth, LEFT, first, child)
        end = first
    while depth > 0:
        depth -= 1
        kind, i, j = stack[depth]
        if kind == RIGHT:
            word = (
                i
                + 1
                + choose(semiring, open_[i, i + 1 : j + 1], right[j, i + 1 : j + 1], _draw(uniform, drawn))
            )
            head, low, high = i, i, word
            depth = _add(stack, depth, RIGHT, word, j)
        else:
            word = i + choose(semiring, left[i, i:j], open_[j, i:j], _draw(uniform, drawn))
            head, low, high = j, word, j
            depth = _add(stack, depth, LEFT, i, word)
        heads[word] = head + 1
        split = low + choose(
            semiring, right[low, low:high], left[high, low + 1 : high + 1], _draw(uniform, drawn + 1)
        )
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
