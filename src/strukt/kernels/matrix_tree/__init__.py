"""Non-projective dependency trees: sums by the Matrix-Tree theorem, best trees by Chu-Liu/Edmonds."""

from strukt.kernels.labelled_arcs import LabelledOracles
from strukt.kernels.matrix_tree.reference import REFERENCE
from strukt.kernels.oracles import Oracles

ORACLES = Oracles("matrix_tree", scores=("arcs",), options=("single_root",), reference=REFERENCE)
LABELLED = LabelledOracles(ORACLES)
