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


SUBJECTS = tuple(
    Subject(name, Matching, brute_force.matching, draw, {"scores": 2}, size, free=frozenset({"scores"}))
    for name, draw, size in (("Matching, square", _square, 4), ("Matching, wide", _wide, 3))
)
