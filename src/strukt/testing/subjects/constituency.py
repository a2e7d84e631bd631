"""Trees over spans."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from strukt.distributions import BitSpanTree, SpanTree
from strukt.testing import brute_force
from strukt.testing.subject import ALWAYS_FEASIBLE, Subject
from strukt.testing.subjects.scores import LABELS, normal


def _spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size + 1, size + 1),)


def _labelled_spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size + 1, size + 1, LABELS),)


def _bits(generator: torch.Generator, batch: tuple[int, ...], size: int, count: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size + 1, size + 1, count),)


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
    *(
        Subject(
            f"BitSpanTree of {count}",
            BitSpanTree,
            brute_force.bit_span_tree,
            partial(_bits, count=count),
            {"bits": 3},
            size=size,
            lacks=frozenset({"from_parts", "sample_without_replacement"}) | ALWAYS_FEASIBLE,
            free=frozenset({"bits"}),
        )
        for count, size in ((1, 3), (2, 2))
    ),
)
