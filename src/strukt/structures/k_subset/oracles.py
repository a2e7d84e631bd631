"""Subsets of some items, of a given number or range: sums over a tree of blocks, best ones by sorting."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.k_subset.reference import REFERENCE

ORACLES = TableOracles(
    __package__, scores=("scores", "omitted"), options=(), reference=REFERENCE, constants=("low", "high")
)
