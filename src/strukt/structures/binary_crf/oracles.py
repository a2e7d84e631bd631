"""Fully connected binary variables: enumeration of all states."""

from strukt.kernels.oracles import Oracles
from strukt.structures.binary_crf.reference import REFERENCE

ORACLES = Oracles(__package__, scores=("unary", "pairwise", "absent"), options=(), reference=REFERENCE)
