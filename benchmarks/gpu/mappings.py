"""Times of sparsemax and entmax on a GPU, beside those of the package entmax, of softmax, and of copies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from benchmarks import mappings
from benchmarks.contest import Contestant, Family
from benchmarks.gpu.clock import PATIENCE, Budget, Measured, attempt, bandwidth
from benchmarks.report import duration

HEADER = ("mapping", "library", "forward", "of copies", "and gradient", "of copies")

SIZES = ((4096, 32000), (49152, 512), (49152, 64), (32, 10))
"""Rows x scores: a vocabulary; attention in 8 sentences, 12 heads and 512 words, over 512 and over 64 words; and a
small batch."""

FORWARD = 2
"""The reads and writes of tensors of the size of the scores in the forward pass."""

BOTH = 5
"""The reads and writes in forward and backward pass, which reads the value and a direction."""


def times(contestant: Contestant, scores: Tensor, budget: Budget) -> tuple[Measured | str, Measured | str]:
    """Return the time of a call, and that of a call with its gradient, or the reasons why they are missing."""
    leaf, direction = scores.clone().requires_grad_(), torch.randn_like(scores)
    patience = math.inf if contestant.name == "strukt" else PATIENCE
    return (
        attempt(lambda: contestant.compute(scores), budget, patience),
        attempt(lambda: torch.autograd.grad(contestant.compute(leaf), leaf, direction), budget, patience),
    )


def of_family(family: Family, scores: Tensor, speed: float, budget: Budget) -> Iterator[list[str]]:
    """Yield a row for each contestant, with its speed as a share of that of copies."""
    for contestant in family.contestants:
        line = [f"{family.name} {scores.shape[0]}x{scores.shape[1]}", contestant.name]
        for spent, passes in zip(times(contestant, scores, budget), (FORWARD, BOTH), strict=True):
            if isinstance(spent, str):
                line += [spent, ""]
            else:
                line += [duration(spent.seconds), f"{passes * scores.nbytes / spent.seconds / speed:.0%}"]
        yield line


def lines(device: str, budget: Budget, told: Callable[[list[str]], None]) -> Iterator[list[str]]:
    """Yield a row of the cells of `HEADER` for each mapping, size and contestant."""
    speed = bandwidth(device)
    for family in mappings.FAMILIES[:3]:
        for size in SIZES:
            if budget.is_spent:
                return
            generator = torch.Generator(device).manual_seed(0)
            for line in of_family(family, torch.randn(size, generator=generator, device=device), speed, budget):
                told(line)
                yield line
