"""Binary trees whose spans carry codes on a GPU: the inside recursion as a table."""

from strukt.kernels.engine.gpu.structures import Codes
from strukt.structures.span_tree import program

TABLE = Codes(program.build, program.cells, more=1, event_dim=2)
