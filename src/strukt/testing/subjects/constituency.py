"""Trees over spans."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from strukt.distributions import SpanTree
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import LABELS, normal


def _spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size + 1, size + 1),)


def _labelled_spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size + 1, size + 1, LABELS),)


SUBJECTS = (
    Subject(
        "SpanTree",
        partial(SpanTree, labelled=False),
        partial(brute_force.span_tree, labelled=False),
        _spans,
        {"spans": 2},
    ),
    Subject(
        "SpanTree, labelled",
        partial(SpanTree, labelled=True),
        partial(brute_force.span_tree, labelled=True),
        _labelled_spans,
        {"spans": 3},
        size=3,
        free=frozenset({"spans"}),
    ),
)
