"""Size: no recursion as deep as a sentence, and no memory far beyond the chart."""

import sys

import pytest
import torch
from tests.known_failures.everything import LONG, long_scores

from benchmarks import memory
from strukt.distributions import ProjectiveTree, SpanTree

ROOM = 80
"""Calls: more than the way to a kernel takes, fewer than the words of the sentence."""


def depth() -> int:
    frame, count = sys._getframe(), 0
    while frame:
        frame, count = frame.f_back, count + 1
    return count


@pytest.mark.parametrize(
    ("backend", "n"), [pytest.param("reference", 90, marks=pytest.mark.slow), ("cpu", 200)]
)
def test_trees_as_deep_as_the_sentence_is_long(backend, n, monkeypatch):
    """Decoders that call themselves for each span hit the recursion limit of Python."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    right = torch.zeros(n + 1, n + 1)
    right[:, n] = 5.0
    arcs = torch.zeros(n, n + 1)
    arcs[torch.arange(n), torch.arange(n)] = 5.0
    for distribution in (SpanTree(right, labelled=False), ProjectiveTree(arcs)):
        distribution.log_partition  # noqa: B018  (imports and compiles)
        distribution.mode, distribution.mbr, distribution.sample()
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(depth() + ROOM)
        try:
            events = (distribution.mode, distribution.mbr, distribution.sample())
            distribution.marginals  # noqa: B018
        finally:
            sys.setrecursionlimit(limit)
        for event in events[:2]:
            assert distribution.log_prob(event) > -60
    assert ProjectiveTree(arcs).mode.tolist() == list(range(n))


@pytest.mark.parametrize(
    "name",
    [
        "SpanTree",
        "NonProjectiveTree",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("ProjectiveTree", "PCFG")),
    ],
)
def test_many_best_structures_fit_into_memory(name):
    """The 15 best trees of 25 words take more than 11 GB elsewhere (pytorch-struct #53)."""
    make, scores = LONG[name][0], long_scores(name)
    before = memory.resident()
    _, peak = memory.peak(lambda: make(*scores).topk(15))
    assert not peak - before > 256e6  # nan where the system does not tell
