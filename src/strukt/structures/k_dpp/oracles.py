"""The oracles of k-DPPs."""

from strukt.kernels.oracles import Oracles
from strukt.structures.k_dpp.reference import REFERENCE

ORACLES = Oracles(
    __package__, scores=("scores", "omitted", "kernel"), options=(), reference=REFERENCE, constants=("k",)
)
