"""Matchings as subjects of the conformance suite."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.distributions import Matching
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import normal


def _square(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size, size),)


def _wide(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size, size + 2),)


SUBJECTS = (
    Subject(
        "Matching, square", Matching, brute_force.matching, _square, {"scores": 2}, free=frozenset({"scores"})
    ),
    Subject(
        "Matching, wide",
        Matching,
        brute_force.matching,
        _wide,
        {"scores": 2},
        size=3,
        free=frozenset({"scores"}),
    ),
)
