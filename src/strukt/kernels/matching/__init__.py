"""Matchings: sums by a recursion over sets of rows, maxima by the assignment problem."""

from strukt.kernels.matching.assignment import max_marginals
from strukt.kernels.matching.reference import REFERENCE
from strukt.kernels.oracles import Oracles

ORACLES = Oracles("matching", scores=("scores",), options=(), reference=REFERENCE)

__all__ = ["ORACLES", "max_marginals"]
