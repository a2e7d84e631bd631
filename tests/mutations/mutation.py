"""Bugs to seed: each replaces a line of the package by one that is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """A replacement in a file below ``src/strukt``, and the structure whose tests must notice it.

    What is right must occur in the file exactly as often as `count` says, and every occurrence is replaced.
    """

    file: str
    right: str
    wrong: str
    structure: str
    backend: str = "cpu"
    count: int = 1

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.right.split())} -> {' '.join(self.wrong.split())}"


CHAIN, PLANAR, FREE, SPANS = "LinearChain", "ProjectiveTree", "NonProjectiveTree", "SpanTree"
CODES = "BitSpanTree"
SIBLINGS, HEADS, TABLE = "SecondOrderTree", "LexicalisedTree", "TableStructure"
SEGMENTS = "SemiMarkov"
BINARY, MATCHING, SPANNING = "BinaryCRF", "Matching", "SpanningTree"
GRID, FRAMES = "MonotoneAlignment", "CTC"
GRAMMAR, SUBSETS = "PCFG and not LowRank", "KSubset"
LOW_RANK = "LowRankPCFG"
VECTORS = "mappings"
SPARSE = "SparseMAP"
GRAPHS = "FactorGraph"


def mutations(
    bugs: Mapping[str, Mapping[str, Sequence[tuple[str, str] | tuple[str, str, int]]]], backend: str = "cpu"
) -> list[Mutation]:
    """Of each structure, by file, what is right, what is wrong, and how often it occurs if not once."""
    return [
        Mutation(f"{file}.py", right, wrong, structure, backend, *count)
        for structure, files in bugs.items()
        for file, pairs in files.items()
        for right, wrong, *count in pairs
    ]
