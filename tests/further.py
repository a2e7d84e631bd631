"""Subjects that share scores, leave some out, or have labels besides, next to another one of the same structure.

They are held in CI to what that could break, and to everything else with `--slow`.
"""

import pytest

from strukt.testing.subjects import STRUCTURES

FURTHER = {
    "BinaryCRF, pairs per item",
    "BinaryCRF, shared pairs",
    "CTC",
    "CheckpointedChain, shared transition",
    "KSubset",
    "KSubset, a range of sizes",
    "LinearChain, shared transition",
    "LinearChain, transition per item",
    "LowRankPCFG, shared grammar",
    "Matching, square",
    "MonotoneAlignment",
    "NonProjectiveTree, labelled, single root",
    "PCFG, shared grammar",
    "ProjectiveTree, labelled, any root",
    "SemiMarkov, no transition",
    "SemiMarkov, shared transition",
    "SemiMarkov, transition per position",
    "SpanTree",
}

assert {subject.name for subject in STRUCTURES} >= FURTHER

SUBJECTS = pytest.mark.parametrize(
    "subject",
    [
        pytest.param(subject, id=subject.name, marks=pytest.mark.slow if subject.name in FURTHER else ())
        for subject in STRUCTURES
    ],
)
"""All subjects; further ones are slow."""

FIRST = [subject.name for subject in STRUCTURES if subject.name not in FURTHER]

OF_COMMON_CODE = pytest.mark.parametrize(
    "subject",
    [
        pytest.param(subject, id=subject.name, marks=() if subject.name in FIRST[::3] else pytest.mark.slow)
        for subject in STRUCTURES
    ],
)
"""All subjects; of those that are not further, two of three are slow, because they share the code in question."""
