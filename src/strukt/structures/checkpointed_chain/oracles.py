"""Linear chains whose gradient keeps the forward states of some positions only, and computes the others again."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.linear_chain.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("unary", "transition"), options=(), reference=REFERENCE)
