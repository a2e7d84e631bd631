"""The semirings of the compiled tree recursions, each named by a number that the kernels pass on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import exp, kernel

Array = npt.NDArray[Any]

PROBABILITY, LOG, MAX = 0, 1, 2


@kernel
def one(semiring: int) -> float:
    """The neutral element of the product."""
    return 1.0 if semiring == PROBABILITY else 0.0


@kernel
def zero(semiring: int) -> float:
    """The neutral element of the sum."""
    return 0.0 if semiring == PROBABILITY else -np.inf


@kernel
def weigh(semiring: int, value: float, weight: float) -> float:
    """The product."""
    return value * weight if semiring == PROBABILITY else value + weight


@kernel
def dot(semiring: int, left: Array, i: int, right: Array, j: int, first: int, last: int, shift: int) -> float:
    """The sum of left[i, k] right[j, k + shift] over first <= k < last.

    Rows and bounds instead of vectors: cutting a vector out of a matrix takes as long as a short sum.
    """
    total = 0.0
    if semiring == PROBABILITY:
        for k in range(first, last):
            total += left[i, k] * right[j, k + shift]
        return total
    top = -np.inf
    for k in range(first, last):
        top = max(top, left[i, k] + right[j, k + shift])
    if semiring == MAX or top == -np.inf:
        return top
    for k in range(first, last):
        total += exp(left[i, k] + right[j, k + shift] - top)
    return top + np.log(total)  # type: ignore[no-any-return]


@kernel
def push(
    semiring: int, mass: float, total: float, left: Array, i: int, right: Array, j: int,
    first: int, last: int, shift: int, left_mass: Array, right_mass: Array,
) -> None:  # fmt: skip
    """Share ``mass`` among the terms of a `dot` that gave ``total``, in proportion to their part in it."""
    if mass <= 0.0:
        return
    if semiring == PROBABILITY:
        rate = mass / total
        for k in range(first, last):
            share = rate * left[i, k] * right[j, k + shift]
            left_mass[i, k] += share
            right_mass[j, k + shift] += share
    else:
        for k in range(first, last):
            share = mass * exp(left[i, k] + right[j, k + shift] - total)
            left_mass[i, k] += share
            right_mass[j, k + shift] += share


@kernel
def best_term(left: Array, i: int, right: Array, j: int, first: int, last: int, shift: int) -> int:
    """The k of the first largest of left[i, k] + right[j, k + shift], first <= k < last."""
    best, top = first, -np.inf
    for k in range(first, last):
        if left[i, k] + right[j, k + shift] > top:
            best, top = k, left[i, k] + right[j, k + shift]
    return best


@kernel
def sum_terms(
    semiring: int, left: Array, i: int, right: Array, j: int, first: int, last: int, shift: int, sums: Array
) -> None:
    """The weights of the terms of a `dot`, each with those before it, from the start of ``sums`` on."""
    top = 0.0 if semiring == PROBABILITY else dot(semiring, left, i, right, j, first, last, shift)
    total = 0.0
    for k in range(first, last):
        if semiring == PROBABILITY:
            total += left[i, k] * right[j, k + shift]
        else:
            total += exp(left[i, k] + right[j, k + shift] - top)
        sums[k - first] = total
