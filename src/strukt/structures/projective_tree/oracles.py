"""The oracles of projective dependency trees, by Eisner's algorithm."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.projective_tree.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("arcs",), options=("single_root",), reference=REFERENCE)
