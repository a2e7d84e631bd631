"""Segmentations with labels: the forward recursion over the ends of segments."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.semi_markov.reference import REFERENCE, max_marginals

ORACLES = TableOracles("semi_markov", scores=("segments", "transition"), options=(), reference=REFERENCE)

__all__ = ["ORACLES", "max_marginals"]
