"""How sure scores are: intervals in which they would lie on other sentences of the same kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import quantiles
from typing import TypeVar

Outcome = TypeVar("Outcome")

RESAMPLES = 250
"""How many corpora are drawn: the ends of intervals then vary by about a tenth of their length."""


def intervals(
    scores: Callable[[Sequence[Outcome]], Mapping[str, float]],
    outcomes: Sequence[Outcome],
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> dict[str, tuple[float, float]]:
    """The 95 % intervals of scores, by the percentiles of the bootstrap over sentences.

    As many sentences as there are are drawn with replacement, again and again, and the scores computed anew. That
    tells of the chance in the choice of the sentences, if they are independent, but not of that in training.

    Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 13.3.

    Args:
        scores: From what happened in each sentence of a corpus to its scores.
        outcomes: What happened in each sentence.
        resamples: How often to draw.
        seed: Decides what is drawn.

    Returns:
        The lower and upper end for each score.

    Raises:
        ValueError: There are no sentences, or too few resamples for such percentiles.

    Complexity: `resamples` times that of `scores`.

    Examples:
        >>> share = lambda right: {"right": 100 * sum(right) / len(right)}
        >>> intervals(share, [True] * 80 + [False] * 20)
        {'right': (72.225, 88.0)}
        >>> intervals(share, [True] * 8000 + [False] * 2000)
        {'right': (79.249, 80.74)}
    """
    if not outcomes:
        raise ValueError("outcomes: expected at least one sentence")
    if resamples < 40:
        raise ValueError(f"resamples: got {resamples}, expected at least 40 for 95 % intervals")
    generator = Random(seed)
    drawn = [scores(generator.choices(outcomes, k=len(outcomes))) for _ in range(resamples)]
    return {name: _middle([found[name] for found in drawn]) for name in drawn[0]}


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """Where the middle 95 of 100 values begin and end."""
    cuts = quantiles(values, n=40, method="inclusive")
    return cuts[0], cuts[-1]
