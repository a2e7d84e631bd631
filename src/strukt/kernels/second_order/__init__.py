"""Projective trees with scores of neighbouring siblings."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.kernels.second_order import program

ORACLES = TableOracles(
    "second_order",
    scores=("arcs", "siblings"),
    options=("single_root",),
    reference=TableProgram(program.build, axes=(2, 3)),
)

__all__ = ["ORACLES"]
