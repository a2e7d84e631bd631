"""Dependency trees as subjects of the conformance suite."""

from __future__ import annotations

from functools import partial

from strukt.distributions import NonProjectiveTree, ProjectiveTree, SecondOrderTree
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import draws

ARC_LABELS = 2

SUBJECTS = (
    *(
        Subject(
            f"SecondOrderTree, {'single' if single_root else 'any'} root",
            partial(SecondOrderTree, single_root=single_root),
            partial(brute_force.second_order_tree, single_root=single_root),
            draws(lambda n: (n, n + 1), lambda n: (n, n, n + 1)),
            {"arcs": 2, "siblings": 3},
        )
        for single_root in (True, False)
    ),
    *(
        Subject(
            f"{make.__name__}, labelled, {'single' if single_root else 'any'} root",
            partial(make, single_root=single_root, labelled=True),
            partial(trees, single_root=single_root),
            draws(lambda n: (n, n + 1, ARC_LABELS)),
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
            draws(lambda n: (n, n + 1)),
            {"arcs": 2},
        )
        for make, trees in (
            (NonProjectiveTree, brute_force.non_projective_tree),
            (ProjectiveTree, brute_force.projective_tree),
        )
        for single_root in (True, False)
    ),
)
