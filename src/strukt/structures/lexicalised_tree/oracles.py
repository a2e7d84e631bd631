"""The oracles of lexicalised trees."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.structures.lexicalised_tree import eisner_satta

ORACLES = TableOracles(
    __package__,
    scores=("spans", "arcs"),
    options=(),
    reference=TableProgram(eisner_satta.build, axes=(3, 2)),
    event_dim=2,
)
