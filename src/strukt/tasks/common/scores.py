"""Errors for scores that nothing can be computed from: the weights behind them are likely too large."""

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
    """The scores that a model gives cannot be used.

    Args:
        reason: What is wrong with them.
        remedy: What may be the cause, and how to mend it.

    Attributes:
        reason: The same.
    """

    def __init__(self, reason: str, remedy: str = LIKELY) -> None:
        super().__init__(f"the scores of the model cannot be used ({reason}); {remedy}")
        self.reason = reason


@contextlib.contextmanager
def usable_scores() -> Iterator[None]:
    """Turn errors of what is computed from scores into `ScoresError`.

    A text that has no structure at all may also be one for which the constraints of a model leave none.
    """
    try:
        yield
    except InfeasibleError as error:
        reason = "they leave no structure of a text"
        raise ScoresError(reason, f"leave the text out; if every text is refused, {LIKELY}") from error
    except (OutOfRangeError, OverflowError) as error:
        raise ScoresError(str(error).partition(";")[0]) from error


def not_nan(values: Tensor) -> Tensor:
    """Return values after a check that none of them is NaN.

    Raises:
        ScoresError: NaN is among them.

    Examples:
        >>> not_nan(torch.tensor([0.5, float("-inf")]))
        tensor([0.5000,   -inf])
    """
    if bool(values.isnan().any()):
        raise ScoresError("they make NaN of probabilities")
    return values


def draw(chances: Tensor) -> Tensor:
    """Draw an index from the probabilities of each row: ``(..., 1)``.

    Raises:
        ScoresError: The numbers of a row are no probabilities.
    """
    total = chances.sum(-1)
    if not bool(((total > 0) & total.isfinite()).all()):
        raise ScoresError("they make no probabilities to draw from")
    return torch.multinomial(chances, 1)
