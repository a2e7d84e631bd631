"""Subsets of k items weighed by determinants: k-DPPs."""

from strukt.kernels.determinantal.reference import REFERENCE
from strukt.kernels.oracles import Oracles

ORACLES = Oracles(
    "determinantal", scores=("scores", "omitted", "kernel"), options=(), reference=REFERENCE, constants=("k",)
)
