"""Errors for unusable scores, which usually come from weights whose training diverged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor

from strukt.errors import DataError, InfeasibleError, OutOfRangeError

LIKELY = (
    "its weights are likely those of a training that diverged; train it again with a lower "
    "optimizer.learning_rate, or restore it from a copy"
)


class ScoresError(DataError):
    """Raised if the scores of a model cannot be used.

    Args:
        reason: The fault of the scores.
        remedy: Likely cause, and how to fix it.

    Attributes:
        reason: The fault of the scores.
    """

    def __init__(self, reason: str, remedy: str = LIKELY) -> None:
        super().__init__(f"the scores of the model cannot be used ({reason}); {remedy}")
        self.reason = reason


@contextlib.contextmanager
def usable_scores() -> Iterator[None]:
    """Within the context, replace errors of computations with scores by `ScoresError`.

    If a text has no possible structure, the constraints of the model may be the cause, not the scores.

    Raises:
        ScoresError: If a computation raises `InfeasibleError`, `OutOfRangeError` or `OverflowError`.
    """
    try:
        yield
    except InfeasibleError as error:
        reason = "they rule out every structure of a text"
        raise ScoresError(reason, f"leave the text out; if every text is refused, {LIKELY}") from error
    except (OutOfRangeError, OverflowError) as error:
        raise ScoresError(str(error).partition(";")[0]) from error


def not_nan(values: Tensor) -> Tensor:
    """Return the values unchanged, after checking that none is NaN.

    Raises:
        ScoresError: If a value is NaN.

    Examples:
        >>> not_nan(torch.tensor([0.5, float("-inf")]))
        tensor([0.5000,   -inf])
    """
    if bool(values.isnan().any()):
        raise ScoresError("they give probabilities that are NaN")
    return values


def draw(probabilities: Tensor) -> Tensor:
    """Sample an index from each row of probabilities, which need not sum to 1.

    Args:
        probabilities: ``(rows, k)``, or ``(k,)`` for a single row.

    Returns:
        ``(rows, 1)``, or ``(1,)``.

    Raises:
        ScoresError: If a row does not have a positive, finite sum.
    """
    total = probabilities.sum(-1)
    if not bool(((total > 0) & total.isfinite()).all()):
        raise ScoresError("they make no probabilities to draw from")
    return torch.multinomial(probabilities, 1)
