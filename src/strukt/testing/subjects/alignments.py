"""Alignments."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.distributions import CTC
from strukt.testing import brute_force
from strukt.testing.brute_force import Table
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import LABELS, normal


def _logits(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size, LABELS),)


def _every_labelling(length: int, logits: Tensor) -> Table:
    return brute_force.chain(length, logits, logits.new_zeros(LABELS, LABELS))


def _ctc(name: str, target: tuple[int, ...], blank: int, spare: int) -> Subject:
    """Of a target that loses labels in short items, so that it fits: two frames for a label, but for the first."""

    def make(logits: Tensor, lengths: Tensor | None = None, validate_args: bool | None = None) -> CTC:
        batch = logits.shape[:-2]
        frames = torch.full(batch, logits.shape[-2]) if lengths is None else lengths
        targets = torch.tensor(target).expand(*batch, len(target))
        fitting = ((frames + 1 - spare) // 2).clamp(max=len(target))
        return CTC(logits, targets, lengths, fitting, blank, validate_args)

    def enumerate_(length: int, logits: Tensor) -> Table:
        return brute_force.ctc(length, logits, target[: (length + 1 - spare) // 2], blank)

    return Subject(
        name,
        make,
        enumerate_,
        _logits,
        {"logits": 2},
        free=frozenset({"logits"}),
        enumerate_more=_every_labelling,
    )


SUBJECTS = (_ctc("CTC", (1, 2), blank=0, spare=0), _ctc("CTC, repeated label", (0, 0), blank=2, spare=1))
