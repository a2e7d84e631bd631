"""Constituency trees as subjects of the conformance suite."""

from __future__ import annotations

from functools import partial

from strukt.distributions import BitSpanTree, LexicalisedTree, SpanTree
from strukt.testing import brute_force
from strukt.testing.subject import ALWAYS_FEASIBLE, Subject
from strukt.testing.subjects.scores import draws

SPAN_LABELS = 2
"""The number of labels; with three, there are so many trees that their enumeration takes minutes."""

BITS = 1
"""The number of bits of a label; with two, there would be too many trees to enumerate."""

SUBJECTS = (
    Subject(
        "LexicalisedTree",
        LexicalisedTree,
        brute_force.lexicalised_tree,
        draws(lambda n: (n + 1, n + 1, n), lambda n: (n, n + 1)),
        {"spans": 3, "arcs": 2},
    ),
    Subject(
        "SpanTree",
        partial(SpanTree, labelled=False),
        partial(brute_force.span_tree, labelled=False),
        draws(lambda n: (n + 1, n + 1)),
        {"spans": 2},
    ),
    Subject(
        "SpanTree, labelled",
        partial(SpanTree, labelled=True),
        partial(brute_force.span_tree, labelled=True),
        draws(lambda n: (n + 1, n + 1, SPAN_LABELS)),
        {"spans": 3},
        size=3,
        free=frozenset({"spans"}),
    ),
    Subject(
        "BitSpanTree",
        BitSpanTree,
        brute_force.bit_span_tree,
        draws(lambda n: (n + 1, n + 1, BITS)),
        {"bits": 3},
        size=3,
        lacks=frozenset({"from_parts", "sample_without_replacement"}) | ALWAYS_FEASIBLE,
        free=frozenset({"bits"}),
    ),
)
