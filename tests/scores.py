"""Random scores, the same in every test that draws the same shape."""

import torch
from torch import Tensor


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers of a seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
