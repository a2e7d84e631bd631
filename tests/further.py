"""Subjects that share scores or leave some out, which another subject of the same structure has.

They are held in CI to what that could break, and to everything else with `--slow`.
"""

from strukt.testing.subjects import STRUCTURES

FURTHER = {
    "BinaryCRF, pairs per item",
    "BinaryCRF, shared pairs",
    "CTC",
    "CheckpointedChain, shared transition",
    "KSubset",
    "LinearChain, shared transition",
    "LinearChain, transition per item",
    "LowRankPCFG, shared grammar",
    "MonotoneAlignment",
    "PCFG, shared grammar",
    "SemiMarkov, no transition",
    "SemiMarkov, shared transition",
    "SpanTree",
}

assert {subject.name for subject in STRUCTURES} >= FURTHER
