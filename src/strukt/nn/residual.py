"""Networks over vectors of states and symbols."""

from __future__ import annotations

from torch import Tensor, nn


class Residual(nn.Module):
    """Vectors with the outputs of a network added, normalised: LayerNorm(x + network(x)).

    Args:
        size: Of the vectors.
        layers: Of the network, each a linear one with ReLU.
    """

    def __init__(self, size: int, layers: int = 2) -> None:
        super().__init__()
        parts = [part for _ in range(layers) for part in (nn.Linear(size, size), nn.ReLU())]
        self.added = nn.Sequential(*parts)
        self.norm = nn.LayerNorm(size)

    def forward(self, x: Tensor) -> Tensor:
        """``(*, size)`` of ``(*, size)``."""
        found: Tensor = self.norm(x + self.added(x))
        return found


def residual_of_hidden(size: int) -> nn.Sequential:
    """A network whose residual is around its second layer, from its hidden one (Chiu and Rush 2020).

    f(E) = g(ReLU(E W_1)) with g(D) = LayerNorm(ReLU(D W_2) + D), and biases.
    """
    return nn.Sequential(nn.Linear(size, size), nn.ReLU(), Residual(size, 1))
