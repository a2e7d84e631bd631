"""Matchings as subjects of the conformance suite."""

from __future__ import annotations

from strukt.distributions import Matching
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import draws

SUBJECTS = tuple(
    Subject(name, Matching, brute_force.matching, draw, {"scores": 2}, size, free=frozenset({"scores"}))
    for name, draw, size in (
        ("Matching, square", draws(lambda n: (n, n)), 4),
        ("Matching, wide", draws(lambda n: (n, n + 2)), 3),
    )
)
