"""Random scores for all subjects."""

from __future__ import annotations

import torch
from torch import Tensor

LABELS = 3


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Return independent standard normal numbers in float64."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)
