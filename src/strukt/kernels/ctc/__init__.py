"""Labellings of frames that collapse to a target (CTC): the forward recursion over the states of the target."""

from strukt.kernels.ctc.reference import REFERENCE, max_marginals
from strukt.kernels.engine.oracles import TableOracles

ORACLES = TableOracles(
    "ctc", scores=("logits",), options=(), reference=REFERENCE, constants=("states", "target_lengths")
)

__all__ = ["ORACLES", "max_marginals"]
