"""The oracles of second-order projective trees."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.structures.second_order_tree import program

ORACLES = TableOracles(
    __package__,
    scores=("arcs", "siblings"),
    options=("single_root",),
    reference=TableProgram(program.build, axes=(2, 3)),
)
