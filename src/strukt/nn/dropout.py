"""Variational dropout, whose mask is shared by all positions of a sentence."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SharedDropout(nn.Module):
    """Variational dropout: drops the same features at every position of a sequence.

    The dropped features differ between the sequences of a batch. In training, all others are divided by 1 - p.

    Source: Gal and Ghahramani (2016), "A theoretically grounded application of dropout in recurrent
    neural networks".

    Args:
        p: Probability that a feature is dropped.

    Raises:
        ValueError: If `p` is not at least 0 and below 1.

    Examples:
        >>> dropped = SharedDropout(0.5)(torch.ones(1, 4, 8))
        >>> bool((dropped == dropped[:, :1]).all())
        True
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"p is {p}; expected a probability in [0, 1)")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Drop features of `x`, `(*batch, n, features)`, in training; the shape stays the same."""
        if not self.training or self.p == 0:
            return x
        one = x[..., :1, :] if x.dim() > 1 else x
        mask = torch.empty_like(one).bernoulli_(1 - self.p)
        return x * mask / (1 - self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"
