"""Segmentations with labels: the forward recursion over the ends of segments."""

from strukt.kernels.oracles import Oracles
from strukt.kernels.semi_markov.reference import REFERENCE, max_marginals

ORACLES = Oracles("semi_markov", scores=("segments", "transition"), options=(), reference=REFERENCE)

__all__ = ["ORACLES", "max_marginals"]
