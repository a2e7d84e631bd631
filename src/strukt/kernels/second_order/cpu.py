"""Projective trees with siblings on the CPU: a table."""

from strukt.kernels.engine.backend import RowBackend
from strukt.kernels.second_order import program

TABLE = RowBackend(program.build, program.cells, scores=2)
