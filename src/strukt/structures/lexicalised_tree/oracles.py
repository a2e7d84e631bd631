"""The oracles of lexicalised trees."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.structures.lexicalised_tree import program

ORACLES = TableOracles(
    __package__,
    scores=("spans", "arcs"),
    options=(),
    reference=TableProgram(program.build, axes=(3, 2)),
    event_dim=2,
)
