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


SUBJECTS = (
    Subject(
        "LinearChain, shared transition",
        LinearChain,
        brute_force.chain,
        _shared,
        {"unary": 2, "transition": 2},
    ),
    Subject(
        "LinearChain, transition per item",
        LinearChain,
        brute_force.chain,
        _per_item,
        {"unary": 2, "transition": 2},
    ),
    Subject(
        "LinearChain, transition per step",
        LinearChain,
        brute_force.chain,
        _per_step,
        {"unary": 2, "transition": 3},
    ),
    Subject(
        "CheckpointedChain, shared transition",
        CheckpointedChain,
        brute_force.chain,
        _shared,
        {"unary": 2, "transition": 2},
    ),
    Subject(
        "CheckpointedChain, transition per step",
        CheckpointedChain,
        brute_force.chain,
        _per_step,
        {"unary": 2, "transition": 3},
    ),
)
