"""The oracles of subsets of a given size or range of sizes."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.k_subset.reference import REFERENCE

ORACLES = TableOracles(
    __package__, scores=("scores", "omitted"), options=(), reference=REFERENCE, constants=("low", "high")
)
