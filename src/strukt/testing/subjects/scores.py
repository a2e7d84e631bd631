"""Random scores for all subjects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

LABELS = 3

Shape = Callable[[int], tuple[int, ...]]
"""A function from the number of positions of an item to the shape of its scores, without batch dimensions."""


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Return independent standard normal numbers in float64."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def draws(
    *of_items: Shape, shared: Sequence[Shape] = ()
) -> Callable[[torch.Generator, tuple[int, ...], int], tuple[Tensor, ...]]:
    """Return a function `Subject.draw`: normal scores of each item, then normal scores that all items share."""

    def draw(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, ...]:
        apart = [normal(generator, *batch, *shape(size)) for shape in of_items]
        return (*apart, *(normal(generator, *shape(size)) for shape in shared))

    return draw
