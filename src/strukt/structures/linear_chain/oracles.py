"""The oracles of linear chains, by the forward algorithm over tags."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.linear_chain.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("unary", "transition"), options=(), reference=REFERENCE)
