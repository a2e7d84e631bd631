"""The projection of rows of scores onto points of the unit cube with a given sum: relaxed subsets of k items."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import call
from strukt.kernels.capped_simplex import reference
from strukt.kernels.functions import map_function
from strukt.kernels.operator import operator


def _pull(direction: Tensor, taken: Tensor, size: Tensor) -> Tensor:
    """Return the Jacobian of `subset` with respect to the scores, times a direction, both ``(rows, d)``.

    Entries between the bounds move by the direction minus its mean over these entries, so that the sum stays.
    """
    free = _free(taken)
    mean = (free * direction).sum(-1, keepdim=True) / free.sum(-1, keepdim=True).clamp(min=1.0)
    return free * (direction - mean)


def _sensitivity(taken: Tensor, size: Tensor) -> Tensor:
    """Return the derivative with respect to the size, ``(rows, d)``: equal for all entries between the bounds."""
    free = _free(taken)
    return free / free.sum(-1, keepdim=True).clamp(min=1.0)


def _free(taken: Tensor) -> Tensor:
    """Return 1 for entries between the bounds 0 and 1, and 0 for entries at a bound, with derivative 0."""
    return taken.sign() * (1 - taken).sign()


_SUBSET = map_function(
    operator(
        __package__,
        "subset",
        "(Tensor scores, Tensor size) -> Tensor",
        reference.subset,
        lambda scores, size: torch.empty_like(scores),
    ),
    _pull,
    _sensitivity,
)


def subset(scores: Tensor, size: Tensor) -> Tensor:
    """Return the point nearest to each row of scores ``(rows, d)`` with entries from 0 to 1 that sum to its size.

    Sizes ``(rows,)`` need not be integers. Scores of -inf map to 0; all others to 1 if the size is at least their
    number.
    """
    return call(_SUBSET, scores, size)  # type: ignore[no-any-return]


__all__ = ["subset"]
