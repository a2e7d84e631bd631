"""The oracles of user-defined table programs."""

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.structures.table_structure import programs

ORACLES = TableOracles(
    __package__,
    scores=("scores",),
    options=("int program",),
    reference=TableProgram(programs.build, axes=(1,), to_events=programs.used),
)
