"""Confidence intervals of scores by the bootstrap over sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import quantiles
from typing import TypeVar

Outcome = TypeVar("Outcome")

RESAMPLES = 250
"""The default number of resamples; the ends of an interval then vary, with the seed, by a tenth of its length."""


def intervals(
    scores: Callable[[Sequence[Outcome]], Mapping[str, float]],
    outcomes: Sequence[Outcome],
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> dict[str, tuple[float, float]]:
    """Return the 95 % confidence intervals of scores, by the percentile bootstrap over sentences.

    Each resample draws a corpus of the same size with replacement, and computes its scores. The intervals reflect
    the random choice of the sentences, if they are independent, but not the randomness of training.

    Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 13.3.

    Args:
        scores: Maps the outcomes of a corpus to its scores, by the same names for every corpus.
        outcomes: The outcome of each sentence.
        resamples: Number of resamples, at least 40.
        seed: Seed of the random draws: the same seed gives the same intervals.

    Returns:
        The lower and the upper end of the interval of each score, by name.

    Raises:
        ValueError: If there are no sentences, or fewer than 40 resamples.

    Complexity: `resamples` calls of `scores`.

    Examples:
        >>> share = lambda right: {"right": 100 * sum(right) / len(right)}
        >>> intervals(share, [True] * 80 + [False] * 20)
        {'right': (72.225, 88.0)}
        >>> intervals(share, [True] * 8000 + [False] * 2000)
        {'right': (79.249, 80.74)}
    """
    if not outcomes:
        raise ValueError("outcomes is empty; expected at least one sentence")
    if resamples < 40:
        raise ValueError(f"resamples is {resamples}; expected at least 40 for 95 % intervals")
    generator = Random(seed)
    drawn = [scores(generator.choices(outcomes, k=len(outcomes))) for _ in range(resamples)]
    return {name: _middle([result[name] for result in drawn]) for name in drawn[0]}


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """Return the 2.5th and the 97.5th percentile."""
    cuts = quantiles(values, n=40, method="inclusive")
    return cuts[0], cuts[-1]
