"""Segmentations (semi-Markov models) as subjects of the conformance suite."""

from __future__ import annotations

from strukt.distributions import SemiMarkov
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import LABELS, draws

_SHARED = draws(lambda n: (n, 2, LABELS), shared=[lambda _: (LABELS, LABELS)])
_PER_ITEM = draws(lambda n: (n, n + 1, LABELS), lambda _: (LABELS, LABELS))
_PER_POSITION = draws(lambda n: (n, 2, LABELS), lambda n: (max(n - 1, 0), LABELS, LABELS))

SUBJECTS = (
    Subject(
        "SemiMarkov, no transition",
        SemiMarkov,
        brute_force.semi_markov,
        draws(lambda n: (n, LABELS - 1, LABELS)),
        {"segments": 3},
        free=frozenset({"segments"}),
    ),
    *(
        Subject(name, SemiMarkov, brute_force.semi_markov, draw, {"segments": 3, "transition": axes})
        for name, draw, axes in (
            ("SemiMarkov, shared transition", _SHARED, 2),
            ("SemiMarkov, transition per position", _PER_POSITION, 3),
            ("SemiMarkov, transition per item", _PER_ITEM, 2),
        )
    ),
)
