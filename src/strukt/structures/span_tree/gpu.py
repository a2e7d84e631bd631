"""Binary trees over spans on GPUs: the inside algorithm as a table program."""

from strukt.kernels.engine.gpu.structures import Trees
from strukt.structures.span_tree import cky

TABLE = Trees(cky.build, cky.cells, more=1, event_dim=2)
