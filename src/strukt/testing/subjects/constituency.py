"""Constituency trees as subjects of the conformance suite."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from strukt.distributions import BitSpanTree, LexicalisedTree, SpanTree
from strukt.testing import brute_force
from strukt.testing.subject import ALWAYS_FEASIBLE, Subject
from strukt.testing.subjects.scores import normal

SPAN_LABELS = 2
"""The number of labels; with three, there are so many trees that their enumeration takes minutes."""


def _spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size + 1, size + 1),)


def _labelled_spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size + 1, size + 1, SPAN_LABELS),)


def _bits(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    """Return scores of a single bit for each span; with two bits there would be too many trees to enumerate."""
    return (normal(generator, *batch, size + 1, size + 1, 1),)


def _headed_spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    spans = normal(generator, *batch, size + 1, size + 1, size)
    return spans, normal(generator, *batch, size, size + 1)


SUBJECTS = (
    Subject(
        "LexicalisedTree",
        LexicalisedTree,
        brute_force.lexicalised_tree,
        _headed_spans,
        {"spans": 3, "arcs": 2},
    ),
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
    Subject(
        "BitSpanTree",
        BitSpanTree,
        brute_force.bit_span_tree,
        _bits,
        {"bits": 3},
        size=3,
        lacks=frozenset({"from_parts", "sample_without_replacement"}) | ALWAYS_FEASIBLE,
        free=frozenset({"bits"}),
    ),
)
