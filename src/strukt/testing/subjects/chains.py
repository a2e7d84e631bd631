"""Linear chains, with and without checkpoints, as subjects of the conformance suite."""

from __future__ import annotations

from strukt.distributions import CheckpointedChain, LinearChain
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import LABELS, draws

_SHARED = draws(lambda n: (n, LABELS), shared=[lambda _: (LABELS, LABELS)])
_PER_ITEM = draws(lambda n: (n, LABELS), lambda _: (LABELS, LABELS))
_PER_STEP = draws(lambda n: (n, LABELS), lambda n: (n - 1, LABELS, LABELS))

SUBJECTS = tuple(
    Subject(name, make, brute_force.chain, draw, {"unary": 2, "transition": axes})
    for name, make, draw, axes in (
        ("LinearChain, shared transition", LinearChain, _SHARED, 2),
        ("LinearChain, transition per item", LinearChain, _PER_ITEM, 2),
        ("LinearChain, transition per step", LinearChain, _PER_STEP, 3),
        ("CheckpointedChain, shared transition", CheckpointedChain, _SHARED, 2),
        ("CheckpointedChain, transition per step", CheckpointedChain, _PER_STEP, 3),
    )
)
