"""The oracles of matchings: sums by a recursion over sets of rows, maxima by the assignment problem."""

from strukt.kernels.oracles import Oracles
from strukt.structures.matching.reference import REFERENCE

ORACLES = Oracles(__package__, scores=("scores",), options=(), reference=REFERENCE)
