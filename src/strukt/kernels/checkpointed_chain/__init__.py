"""Linear chains whose gradient keeps the forward states of some positions only, and computes the others again."""

from strukt.kernels.chain.reference import REFERENCE
from strukt.kernels.oracles import Oracles

ORACLES = Oracles("checkpointed_chain", scores=("unary", "transition"), options=(), reference=REFERENCE)

__all__ = ["ORACLES"]
