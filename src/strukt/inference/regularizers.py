"""The regularisers of mean field: an entropy, and the probabilities that maximise expected score plus entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import log_softmax
from strukt.mappings.sparsemax_entmax import sparsemax


class Regularizer(NamedTuple):
    """A regulariser of the probabilities of independent blocks, by two functions.

    Attributes:
        best: Function of the scores of variables, ``(..., size)``, and whether exactly one variable of a block is
            1, to their probabilities of the same shape; variables of other blocks are independent.
        entropy: Function of probabilities to their terms of the entropy, of the same shape. A free variable has a
            term for each of its two values.
    """

    best: Callable[[Tensor, bool], Tensor]
    entropy: Callable[[Tensor], Tensor]


def _softmax(scores: Tensor, grouped: bool) -> Tensor:
    return log_softmax(scores, -1).exp() if grouped else scores.sigmoid()


def _shannon(p: Tensor) -> Tensor:
    """Return -p log p, with derivative 0 at 0."""
    inside = p > 0
    result = torch.special.entr(torch.where(inside, p, torch.ones_like(p)))
    return torch.where(inside, result, torch.zeros_like(p))


def _sparsemax(scores: Tensor, grouped: bool) -> Tensor:
    return sparsemax(scores) if grouped else ((scores + 1) / 2).clamp(0, 1)


def _gini(p: Tensor) -> Tensor:
    """Return (p - p^2) / 2, whose sum over a group is (1 - |p|^2) / 2."""
    return (p - p.square()) / 2


REGULARIZERS = {"entropy": Regularizer(_softmax, _shannon), "sparsemax": Regularizer(_sparsemax, _gini)}
"""The regularisers by name: Shannon's entropy, and half the squared norm."""
