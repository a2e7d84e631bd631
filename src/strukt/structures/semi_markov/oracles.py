"""The oracles of semi-Markov chains, by the forward algorithm over the ends of segments."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.semi_markov.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("segments", "transition"), options=(), reference=REFERENCE)
