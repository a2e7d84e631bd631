"""Linear chains: the forward recursion over tags."""

from strukt.kernels.chain.reference import REFERENCE, max_marginals
from strukt.kernels.engine.oracles import TableOracles

ORACLES = TableOracles("chain", scores=("unary", "transition"), options=(), reference=REFERENCE)

__all__ = ["ORACLES", "max_marginals"]
