"""strukt's own structures, as subjects of the conformance suite: a new structure is entered here."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from strukt.distributions import LinearChain, NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.testing import brute_force
from strukt.testing.subject import Subject

LABELS = 3


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _shared(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    return _normal(generator, *batch, size, LABELS), _normal(generator, LABELS, LABELS)


def _per_item(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    return _normal(generator, *batch, size, LABELS), _normal(generator, *batch, LABELS, LABELS)


def _per_step(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    return _normal(generator, *batch, size, LABELS), _normal(generator, *batch, size - 1, LABELS, LABELS)


def _arcs(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (_normal(generator, *batch, size, size + 1),)


def _spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (_normal(generator, *batch, size + 1, size + 1),)


def _labelled_spans(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (_normal(generator, *batch, size + 1, size + 1, LABELS),)


STRUCTURES = (
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
    *(
        Subject(
            f"{make.__name__}, {'single' if single_root else 'any'} root",
            partial(make, single_root=single_root),
            partial(trees, single_root=single_root),
            _arcs,
            {"arcs": 2},
        )
        for make, trees in (
            (NonProjectiveTree, brute_force.non_projective_tree),
            (ProjectiveTree, brute_force.projective_tree),
        )
        for single_root in (True, False)
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
)
