"""Projective dependency trees: Eisner's recursion over half-trees."""

from strukt.kernels.eisner.reference import REFERENCE
from strukt.kernels.labelled_arcs import LabelledOracles
from strukt.kernels.oracles import Oracles

ORACLES = Oracles("eisner", scores=("arcs",), options=("single_root",), reference=REFERENCE)
LABELLED = LabelledOracles(ORACLES)
