"""Binary trees over spans on the CPU: the inside recursion as a table."""

from strukt.kernels.engine.backend import Backend
from strukt.kernels.inside import program

TABLE = Backend(program.build, program.cells, event_dim=2)
