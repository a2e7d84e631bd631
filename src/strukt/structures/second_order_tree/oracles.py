"""The oracles of second-order projective trees."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.structures.second_order_tree import second_order_eisner

ORACLES = TableOracles(
    __package__,
    scores=("arcs", "siblings"),
    options=("single_root",),
    reference=TableProgram(second_order_eisner.build, axes=(2, 3)),
)
