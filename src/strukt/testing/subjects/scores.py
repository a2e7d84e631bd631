"""Random scores of subjects."""

from __future__ import annotations

import torch
from torch import Tensor

LABELS = 3


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Independent standard normal numbers in float64."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)
