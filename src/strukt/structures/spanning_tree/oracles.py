"""Undirected spanning trees: each is one tree rooted at vertex 0, so that the sums are those of `strukt.structures.non_projective_tree`."""

from strukt.kernels.oracles import Oracles
from strukt.structures.spanning_tree.reference import REFERENCE

ORACLES = Oracles(__package__, scores=("edges", "absent"), options=(), reference=REFERENCE, event_dim=2)
