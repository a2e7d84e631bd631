"""Undirected spanning trees: each is one tree rooted at vertex 0, so that the sums are those of `matrix_tree`."""

from strukt.kernels.oracles import Oracles
from strukt.kernels.spanning.arcs import pairs
from strukt.kernels.spanning.reference import REFERENCE
from strukt.kernels.spanning.trees import max_marginals

ORACLES = Oracles("spanning", scores=("edges", "absent"), options=(), reference=REFERENCE, event_dim=2)

__all__ = ["ORACLES", "max_marginals", "pairs"]
