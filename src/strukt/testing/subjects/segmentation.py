"""Segmentations (semi-Markov models) as subjects of the conformance suite."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.distributions import SemiMarkov
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import LABELS, normal

Drawn = tuple[Tensor, ...]


def _segments_only(generator: torch.Generator, batch: tuple[int, ...], size: int) -> Drawn:
    return (normal(generator, *batch, size, LABELS - 1, LABELS),)


def _shared(generator: torch.Generator, batch: tuple[int, ...], size: int) -> Drawn:
    return normal(generator, *batch, size, 2, LABELS), normal(generator, LABELS, LABELS)


def _per_item(generator: torch.Generator, batch: tuple[int, ...], size: int) -> Drawn:
    return normal(generator, *batch, size, size + 1, LABELS), normal(generator, *batch, LABELS, LABELS)


def _per_position(generator: torch.Generator, batch: tuple[int, ...], size: int) -> Drawn:
    pairs = normal(generator, *batch, max(size - 1, 0), LABELS, LABELS)
    return normal(generator, *batch, size, 2, LABELS), pairs


SUBJECTS = (
    Subject(
        "SemiMarkov, no transition",
        SemiMarkov,
        brute_force.semi_markov,
        _segments_only,
        {"segments": 3},
        free=frozenset({"segments"}),
    ),
    Subject(
        "SemiMarkov, shared transition",
        SemiMarkov,
        brute_force.semi_markov,
        _shared,
        {"segments": 3, "transition": 2},
    ),
    Subject(
        "SemiMarkov, transition per position",
        SemiMarkov,
        brute_force.semi_markov,
        _per_position,
        {"segments": 3, "transition": 3},
    ),
    Subject(
        "SemiMarkov, transition per item",
        SemiMarkov,
        brute_force.semi_markov,
        _per_item,
        {"segments": 3, "transition": 2},
    ),
)
