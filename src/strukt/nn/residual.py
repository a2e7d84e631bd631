"""Residual networks over vectors of states and symbols."""

from __future__ import annotations

from torch import Tensor, nn


class Residual(nn.Module):
    """A residual network with layer normalisation: LayerNorm(x + network(x)).

    Args:
        size: Size of the vectors.
        layers: Number of layers of the network, each linear with ReLU.
    """

    def __init__(self, size: int, layers: int = 2) -> None:
        super().__init__()
        parts = [part for _ in range(layers) for part in (nn.Linear(size, size), nn.ReLU())]
        self.added = nn.Sequential(*parts)
        self.norm = nn.LayerNorm(size)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(*, size)`` to ``(*, size)``."""
        result: Tensor = self.norm(x + self.added(x))
        return result


def residual_of_hidden(size: int) -> nn.Sequential:
    """Return a network with a residual connection around its second layer (Chiu and Rush 2020).

    For vectors x ``(*, size)``, it computes f(x) = g(ReLU(x W_1)) with g(y) = LayerNorm(ReLU(y W_2) + y), with
    biases.
    """
    return nn.Sequential(nn.Linear(size, size), nn.ReLU(), Residual(size, 1))
