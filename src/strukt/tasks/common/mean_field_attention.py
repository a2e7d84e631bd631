"""Mean-field attention from the options of a task."""

from __future__ import annotations

from typing import Literal, Protocol

from strukt.nn import MeanFieldAttention


class MeanFieldOptions(Protocol):
    """The options of mean-field attention in the configuration of a task.

    Attributes:
        scores: Kind of scores: interactions of low rank, or perceptrons.
        iterations: Maximum number of sweeps.
        damping: Share of its old value that a score keeps in a sweep.
        tol: Change of a weight below which the sweeps end; 0 to make all of them.
    """

    scores: Literal["low-rank", "perceptron"]
    iterations: int
    damping: float
    tol: float


def mean_field_attention(
    config: MeanFieldOptions, queries: int, keys: int, size: int, rivalry: float = 1.0
) -> MeanFieldAttention:
    """Build the attention that a configuration specifies.

    Args:
        config: The options.
        queries: Size of the queries.
        keys: Size of the keys.
        size: Size of hidden layers, or rank of the interactions.
        rivalry: Initial rivalry of similar keys, for interactions of low rank.
    """
    sweeps = config.iterations, config.damping, config.tol or None
    if config.scores == "perceptron":
        return MeanFieldAttention.of_perceptrons(queries, keys, size, *sweeps)
    return MeanFieldAttention(queries, keys, size, *sweeps, rivalry=rivalry)
