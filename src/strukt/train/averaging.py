"""Moving average of the weights, which is steadier than the latest weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn


class Average:
    """An exponential moving average of the trainable weights of a model.

    Source: Polyak and Juditsky (1992); the decay rises during the first steps as in TensorFlow's
    `ExponentialMovingAverage`.

    Args:
        model: The model whose weights start the average.
        decay: Weight of the past average in each update, at most; 0 means no averaging.

    Attributes:
        weights: The averages by name.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: value.detach().clone() for name, value in _trainable(model).items()}

    def restore(self, weights: dict[str, Tensor]) -> None:
        """Restore saved averages, on the device of the current ones."""
        for name, value in self.weights.items():
            value.copy_(weights[name])

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Update the averages with the weights after a step.

        Args:
            model: The model after the step.
            step: Number of steps before this one.
        """
        decay = min(self.decay, (1 + step) / (10 + step))
        current = [value.detach() for value in _trainable(model).values()]
        torch._foreach_lerp_(list(self.weights.values()), current, 1 - decay)

    @contextlib.contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """Give the model the averaged weights for as long as the context lasts."""
        self._exchange(model)
        try:
            yield
        finally:
            self._exchange(model)

    @torch.no_grad()
    def _exchange(self, model: nn.Module) -> None:
        """Swap the weights of the model and the averages, in place."""
        for name, value in _trainable(model).items():
            kept = value.clone()
            value.copy_(self.weights[name])
            self.weights[name].copy_(kept)


def _trainable(model: nn.Module) -> dict[str, Tensor]:
    return {name: value for name, value in model.named_parameters() if value.requires_grad}
