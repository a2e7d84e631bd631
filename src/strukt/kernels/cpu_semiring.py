"""The semirings of the compiled tree recursions, each named by a number that the kernels pass on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strukt.kernels.jit import exp, inner, kernel

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


@inner
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


@inner
def mean_growth(
    semiring: int, total: float, left: Array, i: int, right: Array, j: int,
    first: int, last: int, shift: int, left_growth: Array, right_growth: Array,
) -> float:  # fmt: skip
    """The derivative of the log of a `dot` that gave ``total``: a mean over its terms, by their part in it.

    ``left_growth`` and ``right_growth`` are the derivatives of the logs of ``left`` and ``right``, and finite also
    where these are zero.
    """
    if last == first or total == zero(semiring):
        return 0.0
    found, whole = 0.0, 0.0
    if semiring == PROBABILITY:
        for k in range(first, last):
            found += left[i, k] * right[j, k + shift] * (left_growth[i, k] + right_growth[j, k + shift])
        return found / total
    for k in range(first, last):
        term = exp(left[i, k] + right[j, k + shift] - total)
        found += term * (left_growth[i, k] + right_growth[j, k + shift])
        whole += term
    return found / whole  # one, but for the rounding of large logs, which growths would multiply


@inner
def push_change(
    semiring: int, mass: float, change: float, total: float, growth: float,
    left: Array, i: int, right: Array, j: int, first: int, last: int, shift: int,
    left_growth: Array, right_growth: Array, left_change: Array, right_change: Array,
) -> None:  # fmt: skip
    """Share the derivative of what `push` shares.

    ``change`` is the derivative of ``mass``, ``growth`` that of the log of ``total``, as from `mean_growth`.
    """
    if mass <= 0.0:
        return
    own = change - mass * growth
    if semiring == PROBABILITY:
        own_rate, rate = own / total, mass / total
        for k in range(first, last):
            scale = own_rate + rate * (left_growth[i, k] + right_growth[j, k + shift])
            share = scale * left[i, k] * right[j, k + shift]
            left_change[i, k] += share
            right_change[j, k + shift] += share
    else:
        for k in range(first, last):
            scale = own + mass * (left_growth[i, k] + right_growth[j, k + shift])
            share = scale * exp(left[i, k] + right[j, k + shift] - total)
            left_change[i, k] += share
            right_change[j, k + shift] += share


@inner
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
