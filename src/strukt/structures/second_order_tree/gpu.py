"""Second-order projective trees on GPUs, as a table program."""

from strukt.kernels.engine.gpu.structures import Rows
from strukt.structures.second_order_tree import second_order_eisner

TABLE = Rows(second_order_eisner.build, second_order_eisner.cells, scores=2, power=3)
