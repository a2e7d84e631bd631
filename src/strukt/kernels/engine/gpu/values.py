"""The values of the features of the weights that structures use, as codes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Namer = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A function of the scores of values ``(batch, places, features, values)``, and of the marks ``(batch, count,
used)`` of some weights and their places, to the codes of their values. A code is the sum, over features f, of the
index of the value times the number of values to the power of f."""


def best(scores: Tensor, marks: Tensor, place: Tensor) -> Tensor:
    """Return the codes of the highest-scoring values of the used weights, ``(batch, count, used)``."""
    return _codes(_at(scores, place))


def drawn(scores: Tensor, marks: Tensor, place: Tensor) -> Tensor:
    """Return the codes of values drawn by their probabilities, ``(batch, count, used)``.

    These have the largest scores after adding Gumbel noise (Gumbel 1954).
    """
    each = _at(scores, place)
    return _codes(each - torch.empty_like(each).exponential_().log())


def searched(scores: Tensor, marks: Tensor, place: Tensor) -> Tensor:
    """Return the codes of values that `kbest.kbest` has added to the marks of 1: ``(batch, count, used)``."""
    return marks - 1


def _at(scores: Tensor, place: Tensor) -> Tensor:
    """Return the scores of the values at some places, ``(batch, count, used, features, values)``."""
    return scores[torch.arange(len(scores), device=scores.device)[:, None, None], place]


def _codes(scores: Tensor) -> Tensor:
    """Return the code ``(...)`` of the values with the highest ``scores (..., features, values)``."""
    units = scores.shape[-1] ** torch.arange(scores.shape[-2], device=scores.device)
    return (scores.argmax(-1) * units).sum(-1)
