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
    *(
        Subject(name, SemiMarkov, brute_force.semi_markov, draw, {"segments": 3, "transition": axes})
        for name, draw, axes in (
            ("SemiMarkov, shared transition", _shared, 2),
            ("SemiMarkov, transition per position", _per_position, 3),
            ("SemiMarkov, transition per item", _per_item, 2),
        )
    ),
)
