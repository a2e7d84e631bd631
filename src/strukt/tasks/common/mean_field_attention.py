"""Mean-field attention, built from the options of a task."""

from __future__ import annotations

from typing import Literal, Protocol

from strukt.nn import MeanFieldAttention


class MeanFieldOptions(Protocol):
    """The options of mean-field attention in the configuration of a task.

    Attributes:
        scores: Kind of scores: interactions of low rank, or perceptrons.
        iterations: Maximum number of mean-field sweeps.
        damping: Share of its old value that a score keeps in a sweep.
        tol: Sweeps end once no weight changes by more than this; 0 to make all `iterations` sweeps.
    """

    scores: Literal["low-rank", "perceptron"]
    iterations: int
    damping: float
    tol: float


def mean_field_attention(
    config: MeanFieldOptions, queries: int, keys: int, size: int, rivalry: float = 1.0
) -> MeanFieldAttention:
    """Build the mean-field attention that a configuration specifies.

    Args:
        config: The options of the task.
        queries: Size of the query vectors.
        keys: Size of the key vectors.
        size: Size of the hidden layers of perceptrons, or rank of the interactions.
        rivalry: Initial strength with which similar keys compete, for interactions of low rank.
    """
    sweeps = config.iterations, config.damping, config.tol or None
    if config.scores == "perceptron":
        return MeanFieldAttention.of_perceptrons(queries, keys, size, *sweeps)
    return MeanFieldAttention(queries, keys, size, *sweeps, rivalry=rivalry)
