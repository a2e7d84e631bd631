"""Binary trees whose spans have heads on the CPU: a table."""

from strukt.kernels.engine.backend import RowBackend
from strukt.structures.lexicalised_tree import program

TABLE = RowBackend(program.build, program.cells, scores=2, event_dim=2)
