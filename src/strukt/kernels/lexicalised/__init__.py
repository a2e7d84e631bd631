"""Binary trees whose spans have heads."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.kernels.lexicalised import program

ORACLES = TableOracles(
    "lexicalised",
    scores=("spans", "arcs"),
    options=(),
    reference=TableProgram(program.build, axes=(3, 2)),
    event_dim=2,
)

__all__ = ["ORACLES"]
