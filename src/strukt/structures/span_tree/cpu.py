"""Binary trees over spans on the CPU: the inside algorithm as a table program."""

from strukt.kernels.engine.backend import Backend
from strukt.structures.span_tree import cky

TABLE = Backend(cky.build, cky.cells, event_dim=2)
