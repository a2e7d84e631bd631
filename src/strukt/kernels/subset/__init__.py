"""Subsets of some items, of a given number or range: sums over a tree of blocks, best ones by sorting."""

from strukt.kernels.oracles import Oracles
from strukt.kernels.subset.reference import REFERENCE
from strukt.kernels.subset.sorting import max_marginals

ORACLES = Oracles(
    "subset", scores=("scores", "omitted"), options=(), reference=REFERENCE, constants=("low", "high")
)

__all__ = ["ORACLES", "max_marginals"]
