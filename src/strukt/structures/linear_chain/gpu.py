"""Sequences of tags on a GPU, as a table."""

from strukt.kernels.engine.gpu.structures import Pairs
from strukt.structures.linear_chain import program

TABLE = Pairs(program.build, program.cells)
