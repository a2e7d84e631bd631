"""Spanning trees as subjects of the conformance suite."""

from __future__ import annotations

from strukt.distributions import SpanningTree
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import draws

SUBJECTS = (
    Subject("SpanningTree", SpanningTree, brute_force.spanning_tree, draws(lambda n: (n, n)), {"edges": 2}),
)
