"""The oracles of undirected spanning trees, by those of non-projective trees."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.spanning_tree.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("edges", "absent"), options=(), reference=REFERENCE, event_dim=2)
