"""Projective dependency trees: Eisner's recursion over half-trees."""

from strukt.kernels.eisner.reference import REFERENCE
from strukt.kernels.engine.oracles import TableOracles

ORACLES = TableOracles("eisner", scores=("arcs",), options=("single_root",), reference=REFERENCE)

__all__ = ["ORACLES"]
