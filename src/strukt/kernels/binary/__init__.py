"""Fully connected binary variables: enumeration of all states."""

from strukt.kernels.binary.reference import REFERENCE, max_marginals
from strukt.kernels.oracles import Oracles

ORACLES = Oracles("binary", scores=("unary", "pairwise", "absent"), options=(), reference=REFERENCE)

__all__ = ["ORACLES", "max_marginals"]
