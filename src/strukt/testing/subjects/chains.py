"""Linear chains, with and without checkpoints, as subjects of the conformance suite."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.distributions import CheckpointedChain, LinearChain
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import LABELS, normal


def _shared(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    return normal(generator, *batch, size, LABELS), normal(generator, LABELS, LABELS)


def _per_item(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    return normal(generator, *batch, size, LABELS), normal(generator, *batch, LABELS, LABELS)


def _per_step(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    return normal(generator, *batch, size, LABELS), normal(generator, *batch, size - 1, LABELS, LABELS)


SUBJECTS = tuple(
    Subject(name, make, brute_force.chain, draw, {"unary": 2, "transition": axes})
    for name, make, draw, axes in (
        ("LinearChain, shared transition", LinearChain, _shared, 2),
        ("LinearChain, transition per item", LinearChain, _per_item, 2),
        ("LinearChain, transition per step", LinearChain, _per_step, 3),
        ("CheckpointedChain, shared transition", CheckpointedChain, _shared, 2),
        ("CheckpointedChain, transition per step", CheckpointedChain, _per_step, 3),
    )
)
