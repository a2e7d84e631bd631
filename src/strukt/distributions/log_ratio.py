"""Probabilities from logs: a log-score less a log-partition."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF


def log_ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """The log of a probability as a difference of two logs, -inf where the numerator is -inf.

    Both are rounded, and both may be huge: what the rounding leaves above 0 is taken off the value.
    """
    impossible = (numerator == NEG_INF) | (denominator == NEG_INF)
    ratio = torch.where(impossible, NEG_INF, numerator - torch.where(impossible, 0.0, denominator))
    return ratio - ratio.detach().clamp(min=0.0)
