"""Binary trees over spans with codes on GPUs: the inside algorithm as a table program."""

from strukt.kernels.engine.gpu.structures import Codes
from strukt.structures.span_tree import cky

TABLE = Codes(cky.build, cky.cells, more=1, event_dim=2)
