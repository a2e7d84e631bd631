"""Second-order projective trees on the CPU, as a table program."""

from strukt.kernels.engine.backend import RowBackend
from strukt.structures.second_order_tree import second_order_eisner

TABLE = RowBackend(second_order_eisner.build, second_order_eisner.cells, scores=2)
