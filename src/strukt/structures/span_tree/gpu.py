"""Binary trees over spans on a GPU: the inside recursion as a table."""

from strukt.kernels.engine.gpu.structures import Trees
from strukt.structures.span_tree import program

TABLE = Trees(program.build, program.cells, more=1, event_dim=2)
