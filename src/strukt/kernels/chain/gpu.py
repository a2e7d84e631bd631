"""Sequences of tags on a GPU, as a table."""

from strukt.kernels.chain import program
from strukt.kernels.engine.gpu.structures import Pairs

TABLE = Pairs(program.build, program.cells)
