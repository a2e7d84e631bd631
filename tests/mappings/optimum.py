"""Checks that a point is an optimum, without knowing how it was found."""

from collections.abc import Callable

import numpy as np

Vector = np.ndarray


def moves_never_help(p: Vector, x: Vector, regulariser: Callable[[Vector], float], order: Vector) -> bool:
    """Whether no mass moved from one run of entries to another, each entry alike, gives a higher value.

    Runs are taken along an order. A penalty on differences between neighbours in the order is linear near p along
    these directions, and a descent is a sum of such moves.
    """
    value, d = p @ x - regulariser(p), len(p)
    runs = [order[i:j] for i in range(d) for j in range(i + 1, d + 1)]
    for taken in runs:
        step = 1e-3 * p[taken].min()
        for given in runs:
            other = p.copy()
            other[taken] -= step / len(taken)
            other[given] += step / len(given)
            if other @ x - regulariser(other) > value + 1e-14:
                return False
    return True


def never_better(
    p: Vector, x: Vector, regulariser: Callable[[Vector], float], feasible: Callable[[Vector], Vector]
) -> bool:
    """Whether no point near p, at many distances, and made feasible, has a higher value."""
    draws = np.random.default_rng(0)
    value = p @ x - regulariser(p)
    for _ in range(300):
        other = feasible(p + draws.normal(size=len(p)) * 10.0 ** -draws.uniform(0, 6))
        if other @ x - regulariser(other) > value + 1e-12:
            return False
    return True
