"""Monotone alignments on a GPU, as a table."""

from strukt.kernels.alignment import program
from strukt.kernels.engine.gpu.structures import Pairs

TABLE = Pairs(program.build, program.cells, axes=2)
