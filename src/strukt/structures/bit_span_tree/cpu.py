"""Binary trees over spans with codes on the CPU: the inside algorithm as a table program."""

from strukt.kernels.engine.backend import CodeBackend
from strukt.structures.span_tree import cky

TABLE = CodeBackend(cky.build, cky.cells, event_dim=2)
