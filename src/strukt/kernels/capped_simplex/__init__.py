"""The projection of rows of scores onto points of the unit cube with a given sum: relaxed subsets of k items."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.autograd import call
from strukt.kernels.capped_simplex import reference
from strukt.kernels.functions import map_function
from strukt.kernels.operator import operator


def _pull(direction: Tensor, taken: Tensor, size: Tensor) -> Tensor:
    """Return the Jacobian times a direction: entries between the bounds move by it, minus its mean over them."""
    free = _free(taken)
    mean = (free * direction).sum(-1, keepdim=True) / free.sum(-1, keepdim=True).clamp(min=1.0)
    return free * (direction - mean)


def _sensitivity(taken: Tensor, size: Tensor) -> Tensor:
    free = _free(taken)
    return free / free.sum(-1, keepdim=True).clamp(min=1.0)


def _free(taken: Tensor) -> Tensor:
    """Return 1 for entries between the bounds 0 and 1, and 0 at a bound; its derivative exists, and is 0."""
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
    """Return the point ``(rows, d)`` nearest to each row of scores with entries from 0 to 1 that sum to ``size``.

    Scores of -inf map to 0; all others to 1 if there are at most ``size (rows,)`` of them.
    """
    return call(_SUBSET, scores, size)  # type: ignore[no-any-return]


__all__ = ["subset"]
