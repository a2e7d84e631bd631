"""Projective dependency trees: Eisner's recursion over half-trees."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.projective_tree.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("arcs",), options=("single_root",), reference=REFERENCE)
