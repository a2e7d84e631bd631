"""The oracles of non-projective trees: Matrix-Tree theorem for sums, Chu-Liu/Edmonds for best trees."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.labelled_arcs import LabelledOracles
from strukt.structures.non_projective_tree.reference import REFERENCE

ORACLES = TableOracles(__package__, scores=("arcs",), options=("single_root",), reference=REFERENCE)
LABELLED = LabelledOracles(ORACLES)
