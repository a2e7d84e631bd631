"""Binary trees whose spans carry codes on the CPU: the inside recursion as a table."""

from strukt.kernels.engine.backend import CodeBackend
from strukt.structures.span_tree import program

TABLE = CodeBackend(program.build, program.cells, event_dim=2)
