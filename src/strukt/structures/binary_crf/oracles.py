"""The oracles of the fully connected binary CRF, by enumeration."""

from strukt.kernels.oracles import Oracles
from strukt.structures.binary_crf.reference import REFERENCE

ORACLES = Oracles(__package__, scores=("unary", "pairwise", "absent"), options=(), reference=REFERENCE)
