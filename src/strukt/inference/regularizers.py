"""The regularisers of mean field: an entropy, and the probabilities that maximise expected score plus entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import log_softmax
from strukt.mappings.sparsemax_entmax import sparsemax


class Regularizer(NamedTuple):
    """A regulariser of the probabilities of binary variables: an entropy, and the probabilities that it leads to.

    Attributes:
        best: ``best(scores, grouped)`` returns the probabilities that maximise expected score plus entropy, in the
            shape of the scores ``(..., size)``. If ``grouped``, exactly one of the ``size`` variables is 1;
            otherwise they are independent.
        entropy: ``entropy(p)`` returns terms in the shape of the probabilities, whose sum is the entropy. For an
            independent variable, pass both its probability and that of 0.
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
