"""Segmentations with labels: the forward recursion over the ends of segments."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.semi_markov.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("segments", "transition"), options=(), reference=REFERENCE)
