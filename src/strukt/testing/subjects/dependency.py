"""Dependency trees as subjects of the conformance suite."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from strukt.distributions import NonProjectiveTree, ProjectiveTree, SecondOrderTree
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import normal


def _arcs(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size, size + 1),)


ARC_LABELS = 2


def _labelled_arcs(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size, size + 1, ARC_LABELS),)


def _arcs_and_siblings(
    generator: torch.Generator, batch: tuple[int, ...], size: int
) -> tuple[Tensor, Tensor]:
    return normal(generator, *batch, size, size + 1), normal(generator, *batch, size, size, size + 1)


SUBJECTS = (
    *(
        Subject(
            f"SecondOrderTree, {'single' if single_root else 'any'} root",
            partial(SecondOrderTree, single_root=single_root),
            partial(brute_force.second_order_tree, single_root=single_root),
            _arcs_and_siblings,
            {"arcs": 2, "siblings": 3},
        )
        for single_root in (True, False)
    ),
    *(
        Subject(
            f"{make.__name__}, labelled, {'single' if single_root else 'any'} root",
            partial(make, single_root=single_root, labelled=True),
            partial(trees, single_root=single_root),
            _labelled_arcs,
            {"arcs": 3},
            size=3,
            free=frozenset({"arcs"}),
        )
        for make, trees, single_root in (
            (NonProjectiveTree, brute_force.non_projective_tree, True),
            (ProjectiveTree, brute_force.projective_tree, False),
        )
    ),
    *(
        Subject(
            f"{make.__name__}, {'single' if single_root else 'any'} root",
            partial(make, single_root=single_root, labelled=False),
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
)
