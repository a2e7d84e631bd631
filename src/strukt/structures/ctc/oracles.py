"""The oracles of CTC: the forward recursion over the states of the target."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.ctc.reference import REFERENCE

ORACLES = TableOracles(
    __package__, scores=("logits",), options=(), reference=REFERENCE, constants=("states", "target_lengths")
)
