"""Online learning by FTRL-Proximal (follow the regularised leader), with a step size for each weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Stream(NamedTuple):
    """The state of a stream of gradients, for each weight.

    Attributes:
        sums: The gradients, less what the steps taken so far have answered, ``(n,)``: z in the paper.
        squares: The sum of squared gradients ``(n,)``: n in the paper.
    """

    sums: Array
    squares: Array


def begin(weights: Array, squares: Array, l1: float, l2: float, rate: float) -> Stream:
    """Return the stream after which the weights ``(n,)`` are those given, with step sizes by the squares."""
    sums = -weights * (_steepness(squares, rate) + 2.0 * l2) - np.sign(weights) * l1
    return Stream(sums, squares)


def weights_of(stream: Stream, l1: float, l2: float, rate: float) -> Array:
    """Return the weights that minimise linearised losses, proximal terms and penalties: ``(n,)``."""
    shrunk = np.sign(stream.sums) * np.maximum(np.abs(stream.sums) - l1, 0.0)
    return -shrunk / (_steepness(stream.squares, rate) + 2.0 * l2)


def follow(stream: Stream, weights: Array, gradient: Array, rate: float) -> Stream:
    """Take in the gradient of the loss, without penalties, at the weights: one round of FTRL-Proximal.

    The penalties ``l1 |w|_1 + l2 |w|^2`` count once for the whole stream, not once for each round, so that the
    leader of a stream minimises what `strukt.sklearn.owlqn.minimise` minimises for all of it at once.

    Source: McMahan et al. 2013, algorithm 1.

    Examples:
        >>> stream, weights = begin(np.zeros(1), np.zeros(1), 0.0, 0.0, 0.5), np.zeros(1)
        >>> for _ in range(100):
        ...     stream = follow(stream, weights, 2 * (weights - 3.0), 0.5)
        ...     weights = weights_of(stream, 0.0, 0.0, 0.5)
        >>> weights.round(2)
        array([3.])
    """
    squares = stream.squares + gradient**2
    growth = _steepness(squares, rate) - _steepness(stream.squares, rate)
    return Stream(stream.sums + gradient - growth * weights, squares)


def _steepness(squares: Array, rate: float) -> Array:
    """One over the step size of each weight."""
    return (1.0 + np.sqrt(squares)) / rate
