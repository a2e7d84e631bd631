"""The oracles of linear chains with gradient checkpointing."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.linear_chain.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("unary", "transition"), options=(), reference=REFERENCE)
