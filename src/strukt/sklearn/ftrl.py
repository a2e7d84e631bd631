"""Online learning by FTRL-Proximal (follow the regularised leader), with a step size for each weight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array


class Stream(NamedTuple):
    """The state of FTRL-Proximal for n weights (McMahan et al. 2013, algorithm 1).

    Attributes:
        sums: `(n,)`; the sum of gradients minus the proximal terms (z in the algorithm).
        squares: `(n,)`; the sum of squared gradients (n in the algorithm).
    """

    sums: Array
    squares: Array


def begin(weights: Array, squares: Array, l1: float, l2: float, rate: float) -> Stream:
    """Return a state for which `weights_of`, with the same penalties and rate, returns the given weights.

    Args:
        weights: `(n,)`, the weights.
        squares: `(n,)`, sums of squared gradients, which determine the step sizes; the state shares their memory.
        l1: Weight of the L1 norm of the weights.
        l2: Weight of the squared L2 norm of the weights.
        rate: The size of the first steps.
    """
    sums = -weights * (_steepness(squares, rate) + 2.0 * l2) - np.sign(weights) * l1
    return Stream(sums, squares)


def weights_of(stream: Stream, l1: float, l2: float, rate: float) -> Array:
    """Return the weights `(n,)` that minimise the sum of linearised losses, proximal terms and penalties.

    Args:
        stream: The state.
        l1: Weight of the L1 norm of the weights.
        l2: Weight of the squared L2 norm of the weights.
        rate: The size of the first steps.
    """
    shrunk = np.sign(stream.sums) * np.maximum(np.abs(stream.sums) - l1, 0.0)
    return -shrunk / (_steepness(stream.squares, rate) + 2.0 * l2)


def follow(stream: Stream, weights: Array, gradient: Array, rate: float) -> Stream:
    """Return the state after one more round, as a new state.

    The penalties of `weights_of`, `l1 |w|_1 + l2 |w|^2`, count once for the whole stream, not once per round. The
    weights thus approach the minimum that `strukt.sklearn.owl_qn.minimise` finds for the whole data.

    Args:
        stream: The state before the round.
        weights: `(n,)`, the weights of this state, from `weights_of`.
        gradient: `(n,)`, the gradient of the loss of the round at these weights, without penalties.
        rate: The size of the first steps.

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
    """Return the inverse of the step size of each weight."""
    return (1.0 + np.sqrt(squares)) / rate
