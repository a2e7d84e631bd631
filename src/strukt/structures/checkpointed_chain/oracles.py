"""Linear chains whose gradient keeps the forward states of some positions only, and computes the others again."""

from strukt.kernels.oracles import Oracles
from strukt.structures.linear_chain.reference import REFERENCE

ORACLES = Oracles(__package__, scores=("unary", "transition"), options=(), reference=REFERENCE)
