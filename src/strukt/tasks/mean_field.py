"""Mean-field attention as the options of tasks have it."""

from __future__ import annotations

from strukt.nn import MeanFieldAttention
from strukt.tasks.lm import Config
from strukt.tasks.number_config import NumberConfig


def mean_field_attention(
    config: NumberConfig | Config, queries: int, keys: int, size: int, rivalry: float = 1.0
) -> MeanFieldAttention:
    """The attention that a configuration asks for.

    Args:
        config: Its scores, iterations, damping and tol are read.
        queries: Size of the queries.
        keys: Size of the keys.
        size: Of hidden layers, and the rank of interactions of low rank.
        rivalry: At first, of interactions of low rank.
    """
    sweeps = config.iterations, config.damping, config.tol or None
    if config.scores == "perceptron":
        return MeanFieldAttention.of_perceptrons(queries, keys, size, *sweeps)
    return MeanFieldAttention(queries, keys, size, *sweeps, rivalry=rivalry)
