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
def dot(semiring: int, left: Array, right: Array) -> float:
    """The sum of the products of two vectors."""
    total = 0.0
    if semiring == PROBABILITY:
        for k in range(left.shape[0]):
            total += left[k] * right[k]
        return total
    top = -np.inf
    for k in range(left.shape[0]):
        value = left[k] + right[k]
        top = value if value > top else top
    if semiring == MAX or top == -np.inf:
        return top
    for k in range(left.shape[0]):
        total += exp(left[k] + right[k] - top)
    return top + np.log(total)  # type: ignore[no-any-return]


@kernel
def push(
    semiring: int, mass: float, total: float, left: Array, right: Array, left_mass: Array, right_mass: Array
) -> None:
    """Share ``mass`` among the terms of a `dot` that gave ``total``, in proportion to their part in it."""
    if mass <= 0.0:
        return
    if semiring == PROBABILITY:
        rate = mass / total
        for k in range(left.shape[0]):
            share = rate * left[k] * right[k]
            left_mass[k] += share
            right_mass[k] += share
    else:
        for k in range(left.shape[0]):
            share = mass * exp(left[k] + right[k] - total)
            left_mass[k] += share
            right_mass[k] += share


@kernel
def choose(semiring: int, left: Array, right: Array, uniform: float) -> int:
    """The best term of a `dot`, or one drawn in proportion to its part in the sum; never one of weight zero."""
    if semiring == MAX:
        best = 0
        for k in range(1, left.shape[0]):
            if left[k] + right[k] > left[best] + right[best]:
                best = k
        return best
    total = dot(semiring, left, right)
    chosen = 0
    remaining = uniform
    for k in range(left.shape[0]):
        share = left[k] * right[k] / total if semiring == PROBABILITY else exp(left[k] + right[k] - total)
        if share > 0.0:
            chosen = k
            if remaining < share:
                break
            remaining -= share
    return chosen
