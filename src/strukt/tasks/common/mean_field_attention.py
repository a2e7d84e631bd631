"""Mean-field attention by a configuration."""

from __future__ import annotations

from typing import Literal, Protocol

from strukt.nn import MeanFieldAttention


class MeanFieldOptions(Protocol):
    """A configuration of a task whose models may have mean-field attention.

    Attributes:
        scores: Interactions of low rank, or perceptrons.
        iterations: Sweeps, at most.
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
    """Build the attention that a configuration asks for.

    Args:
        config: Its options.
        queries: Size of the queries.
        keys: Size of the keys.
        size: Of hidden layers, and the rank of interactions of low rank.
        rivalry: At first, of interactions of low rank.
    """
    sweeps = config.iterations, config.damping, config.tol or None
    if config.scores == "perceptron":
        return MeanFieldAttention.of_perceptrons(queries, keys, size, *sweeps)
    return MeanFieldAttention(queries, keys, size, *sweeps, rivalry=rivalry)
